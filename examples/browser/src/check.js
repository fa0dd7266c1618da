// Offers the encoder of the page to tests: rows of float32 in, codes and margins out, each as base64 of their bytes.

import { fromBase64, loadDigits } from "./digits.js";
import { startEncoder } from "./encoder.js";
import { getBytes } from "./files.js";

const { nFeatures } = await loadDigits("./digits.json");
const encode = await startEncoder(await getBytes("./model.onnx"), nFeatures);

window.encodeRows = async (rows) => {
  const { codes, margins } = await encode(new Float32Array(fromBase64(rows).buffer));
  return { codes: toBase64(codes), margins: toBase64(margins) };
};
document.querySelector("#state").textContent = "Ready.";

/** Base64 of the bytes of an array; in pieces, since a call takes a limited number of arguments. */
function toBase64({ buffer, byteOffset, byteLength }) {
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  let text = "";
  for (let start = 0; start < bytes.length; start += 8192)
    text += String.fromCharCode(...bytes.subarray(start, start + 8192));
  return btoa(text);
}
