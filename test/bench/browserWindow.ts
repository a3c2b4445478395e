import type { Browser, Page } from 'playwright-core'

/** A signed-in window with separate memory, and its measurements. */
export interface Window {
  page: Page
  /** Calls a function of `boardMeter`: see meter.js. */
  meter<T>(call: string): Promise<T>
  close(): Promise<void>
}
export interface Frames {
  /** ms from each frame to the next one. */
  gaps: number[]
  maxTaskMs: number
}

export async function openWindow(browser: Browser, meter: string, token: string): Promise<Window> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  await context.addInitScript(`sessionStorage.setItem('board token /', ${JSON.stringify(token)})`)
  await context.addInitScript({ path: meter })
  const page = await context.newPage()
  return { page, meter: call => page.evaluate(`boardMeter.${call}`), close: () => context.close() }
}

/** The frames while `work` runs. */
export async function framesOf({ meter }: Window, work: () => Promise<unknown>): Promise<Frames> {
  await meter('start()')
  await work()
  return meter('stop()')
}

/** The JavaScript heap after garbage collection, in MB. */
export async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  for (let time = 0; time < 3; time++) await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  return usedSize / 1024 / 1024
}
