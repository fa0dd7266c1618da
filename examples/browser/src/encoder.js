// The model: onnxruntime-web on its plain WebAssembly backend, in one thread, so that any static server will do.

import { env, InferenceSession, Tensor } from "onnxruntime-web/wasm";

env.wasm.numThreads = 1;

/** Load the model; returns a function from n x nFeatures numbers to packed codes and margins, row after row. */
export async function loadEncoder(address, nFeatures) {
  const model = await fetchBytes(address);
  const session = await InferenceSession.create(model, { executionProviders: ["wasm"] });
  return async (values) => {
    const X = new Tensor("float32", Float32Array.from(values), [values.length / nFeatures, nFeatures]);
    const { codes, margins } = await session.run({ X }, ["codes", "margins"]);
    return { codes: codes.data, margins: margins.data };
  };
}

async function fetchBytes(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address}: the server answered ${answer.status}; run make browser`);
  return new Uint8Array(await answer.arrayBuffer());
}
