// The control: answers a Port, and on request commits three times and fetches once. Nothing of Panelot is here.
const opened = new Promise((resolve, reject) => {
  const request = indexedDB.open("control", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("rows");
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

/** One small write that is on the disk when this resolves. */
async function commit(value) {
  const database = await opened;
  await new Promise((resolve, reject) => {
    const transaction = database.transaction("rows", "readwrite", { durability: "strict" });
    transaction.objectStore("rows").put(value, "row");
    transaction.oncomplete = resolve;
    transaction.onerror = () => reject(transaction.error);
  });
}

chrome.runtime.onConnect.addListener((port) => {
  port.onMessage.addListener(async ({ url, body }) => {
    if (url) {
      for (let round = 0; round < 3; round += 1) await commit({ round });
      const response = await fetch(url, { method: "POST", body });
      await response.body.getReader().read();
    }
    port.postMessage({ done: true });
  });
});
