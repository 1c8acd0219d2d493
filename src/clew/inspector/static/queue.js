// Work that is done one piece after the other, so that a list does not keep the server busy.

const waiting = [];
let busy = false;

async function next() {
  if (busy) return;
  busy = true;
  for (let job = waiting.shift(); job; job = waiting.shift()) {
    if (job.stopped) continue;
    const result = await job.ask().catch((error) => ({ error }));
    if (!job.stopped) job.show(result);
  }
  busy = false;
}

// Asks when everything before it is answered; returns a function that withdraws the question.
export function enqueue(ask, show) {
  const job = { ask, show, stopped: false };
  waiting.push(job);
  next();
  return () => {
    job.stopped = true;
  };
}
