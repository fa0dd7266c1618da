// Files of the page; an error names the file and what to do.

/** Ask for a file. */
export async function get(address) {
  const answer = await fetch(address).catch(() => {
    throw new Error(`${address}: the server does not answer; start it and load the page again`);
  });
  if (!answer.ok) throw new Error(`${address}: the server answered ${answer.status}; run make browser`);
  return answer;
}

export const getBytes = async (address) => new Uint8Array(await (await get(address)).arrayBuffer());
