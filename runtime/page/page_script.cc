#include "runtime/page/page_frame.h"

namespace tony {

// The page is whole without it. With it the job's page is exchanged when there is news, and a log grows.
const std::string_view kPageScript = R"js('use strict';
(() => {
  const main = () => document.querySelector('main');
  const note = document.getElementById('note');
  const say = (text) => { if (note.textContent !== text) note.textContent = text; };
  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
  const seen = () => new Promise((done) => {
    if (!document.hidden) return done();
    document.addEventListener('visibilitychange', done, {once: true});
  });

  // YARN's proxy leads on to what is kept of the job once that has ended.
  class Ended extends Error {}

  // Calls look() again and again until it says false; a failed look is said, and tried again.
  async function repeat(look, pause, ended) {
    for (;;) {
      await seen();
      try {
        if (!await look()) return;
        say('');
        if (pause()) await sleep(pause());
      } catch (failure) {
        if (failure instanceof Ended) return ended();
        say('Not connected: the job has ended, or its application master is being replaced. Trying again.');
        await sleep(3000);
      }
    }
  }

  async function get(path, query) {
    const url = new URL(path, location.href);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const answer = await fetch(url, {cache: 'no-store', redirect: 'manual'});
    if (answer.type === 'opaqueredirect') throw new Ended();
    if (!answer.ok) throw new Error(answer.status);
    return answer;
  }

  const pause = () => Number(main().dataset.pause);

  async function job() {
    if (main().dataset.live !== '1') return false;
    const answer = await get(location.search || './', {since: main().dataset.seq, timeout: pause() ? 0 : 10});
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
    main().replaceWith(document.adoptNode(fresh.querySelector('main')));
    document.title = fresh.title;
    return true;
  }

  async function log() {
    const pre = document.getElementById('log');
    const answer = await get(pre.dataset.text, {cursor: pre.dataset.cursor});
    const text = await answer.text();
    const low = innerHeight + scrollY >= document.body.scrollHeight - 40;
    pre.append(text);
    pre.dataset.cursor = answer.headers.get('X-Tony-Cursor');
    if (text && low) scrollTo(0, document.body.scrollHeight);
    return true;
  }

  const pre = document.getElementById('log');
  // Without a pause, where there is none: the server answers when there is news, and who does not wait there misses the
  // job's end.
  if (main().dataset.live === '1') repeat(job, pause, () => location.reload());
  if (pre && pre.dataset.cursor) {
    scrollTo(0, document.body.scrollHeight);
    repeat(log, () => 2000, () => say('The job has ended. Here is what its log was until then; tony logs has all of it.'));
  }
})();
)js";

}  // namespace tony
