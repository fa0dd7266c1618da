// The model: onnxruntime-web on its plain WebAssembly backend, in one thread, so that any static server will do.

import { env, InferenceSession, Tensor } from "onnxruntime-web/wasm";

env.wasm.numThreads = 1;

/** Start a model, given as bytes; returns a function from n x nFeatures numbers to packed codes and margins, row after row. */
export async function startEncoder(model, nFeatures) {
  const session = await InferenceSession.create(model, { executionProviders: ["wasm"] });
  return async (values) => {
    const X = new Tensor("float32", Float32Array.from(values), [values.length / nFeatures, nFeatures]);
    const { codes, margins } = await session.run({ X }, ["codes", "margins"]);
    return { codes: codes.data, margins: margins.data };
  };
}
