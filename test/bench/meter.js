// Measures inside a page, whose scripts access it as `boardMeter`. Times are of the system's clock, in ms, for comparison with those of another process.
;(() => {
  const now = () => performance.timeOrigin + performance.now()
  const [entry] = performance.getEntriesByType('navigation')
  let maxTaskMs = 0
  const noteTasks = tasks => {
    for (const { duration } of tasks.getEntries()) maxTaskMs = Math.max(maxTaskMs, duration)
  }
  const tasks = new PerformanceObserver(noteTasks)
  tasks.observe({ type: 'longtask' })

  let gaps
  let last
  const step = at => {
    if (!gaps) return
    if (last !== undefined) gaps.push(at - last)
    last = at
    requestAnimationFrame(step)
  }

  /** Resolves when an element matches the selector. */
  const until = selector =>
    new Promise((resolve, reject) => {
      const isThere = () => document.querySelector(selector) !== null
      if (isThere()) return resolve(now())
      const giveUp = () => reject(new Error(`${selector} has not come in half a minute: ${document.body.innerText}`))
      const timer = setTimeout(giveUp, 30_000)
      const observer = new MutationObserver(() => {
        if (!isThere()) return
        clearTimeout(timer)
        observer.disconnect()
        resolve(now())
      })
      observer.observe(document, { childList: true, subtree: true, attributes: true, characterData: true })
    })
  const kept = new Map()

  globalThis.boardMeter = {
    now,
    until,
    /** Starts recording, so that no event is missed until `kept`. */
    keep(selector) {
      kept.set(selector, until(selector))
    },
    kept: selector => kept.get(selector),
    /** Resolves when an element that matches the selector gets the focus. */
    focused: selector =>
      new Promise(resolve => {
        addEventListener('focusin', ({ target }) => target.matches(selector) && resolve(now()))
      }),
    start() {
      tasks.takeRecords()
      ;[gaps, last, maxTaskMs] = [[], undefined, 0]
      requestAnimationFrame(step)
    },
    /** The time from frame to frame since `start`, and the longest task. */
    stop() {
      noteTasks({ getEntries: () => tasks.takeRecords() })
      const measured = { gaps, maxTaskMs }
      gaps = undefined
      return measured
    },
    firstByte: () => performance.timeOrigin + entry.responseStart,
    painted: async () => {
      const find = () => performance.getEntriesByName('first-contentful-paint')[0]
      while (!find()) await new Promise(resolve => setTimeout(resolve, 5))
      return performance.timeOrigin + find().startTime
    },
  }
})()
