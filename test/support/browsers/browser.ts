import axe from 'axe-core'
import { chromium, type Browser, type BrowserContextOptions, type Page, type Request } from 'playwright-core'
import { afterAll, afterEach, vi } from 'vitest'
import { chromiumPath } from './chromium.ts'
import { reportSkipped } from '../run/reportSkipped.ts'

/** The reason why there is no browser here, or undefined. */
export const noBrowser: string | undefined = chromiumPath ? undefined : 'there is no chromium'
if (noBrowser !== undefined) reportSkipped('Tests in a browser', noBrowser)

/** A user with one window. */
export interface Visitor {
  page: Page
  /** Forbidden behavior of a page: errors on the console, violations of its policy, requests to other hosts, failures of the server. */
  problems: string[]
  /** The violations that axe-core finds in the current page, one per line. */
  axeViolations(): Promise<string[]>
  /** Waits until all responses of the page have arrived and are drawn: then the page is stable, and can be measured and clicked. */
  settled(): Promise<void>
}
interface VisitOptions extends BrowserContextOptions {
  /** The initial page: `#/projects/1`. */
  at?: string
  /** Whether no user is signed in. */
  isStranger?: boolean
  /** Another origin that the user visits. */
  elsewhere?: string
}

/** The timeout of a page: on a busy machine one has taken more than a minute. */
const waitMs = 120_000

/** No name is resolved, so that no request of a page leaves the machine. */
const args = ['--no-sandbox', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost']

/** The board that serves the pages, and the token that creates a visitor's ticket. */
export interface Visited {
  url: string
  token: string
}

/**
 * Opens windows for the tests of a file: signed in by a ticket, each with separate storage. At a test's end they are closed, and
 * the test fails if a page did anything forbidden.
 */
export function visitors(): (board: Visited, options?: VisitOptions) => Promise<Visitor> {
  let browser: Promise<Browser> | undefined
  let open: { visitor: Visitor; close: () => Promise<void> }[] = []
  afterEach(async () => {
    const visits = open
    open = []
    // Pending requests fail when a window is closed.
    const problems = visits.flatMap(({ visitor }) => visitor.problems)
    for (const { close } of visits) await close()
    if (problems.length > 0) throw new Error(`The page did something forbidden:\n${problems.join('\n')}`)
  })
  afterAll(async () => (await browser)?.close())
  return async (board, { at = '#/', isStranger = false, elsewhere, ...options } = {}) => {
    browser ??= chromium.launch({ executablePath: chromiumPath, args })
    const context = await (await browser).newContext({ viewport: { width: 1280, height: 800 }, ...options })
    context.setDefaultTimeout(waitMs)
    const page = await context.newPage()
    const problems: string[] = []
    watch(page, { own: new URL(board.url).origin, elsewhere: elsewhere && new URL(elsewhere).origin }, problems)
    const visitor: Visitor = { page, problems, axeViolations: () => axeViolationsOf(page), settled: settledOf(page) }
    open.push({ visitor, close: () => context.close() })
    const from = isStranger ? at : `#/ticket/${await ticketOf(board)}${at.slice(1)}`
    await page.goto(`${board.url}/${from}`)
    return visitor
  }
}

/** A ticket like that of the command line. */
export async function ticketOf({ url, token }: Visited): Promise<string> {
  const answer = await fetch(`${url}/api/auth/tickets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  })
  return ((await answer.json()) as { data: { ticket: string } }).data.ticket
}

/** A rejected request, or an offline server, is shown on the page, and by Chromium on the console. */
const expected = /^Failed to load resource|^WebSocket connection to|This part of the page could not be loaded/

function watch(page: Page, { own, elsewhere }: { own: string; elsewhere?: string }, problems: string[]): void {
  page.on('console', message => {
    if (message.type() === 'error' && !expected.test(message.text())) problems.push(`console: ${message.text()}`)
  })
  page.on('pageerror', error => problems.push(`error: ${error.stack ?? error.message}`))
  page.on('request', request => {
    const { protocol, origin } = new URL(request.url())
    const isTheirs = origin === elsewhere || request.frame().url().startsWith(`${elsewhere}/`)
    if (protocol !== 'blob:' && origin !== own && !isTheirs) problems.push(`elsewhere: ${request.url()}`)
  })
  page.on('response', response => {
    if (response.status() >= 500 && response.status() !== 503) problems.push(`${response.status()}: ${response.url()}`)
  })
}

/** Holds the requests to a route from now on. @returns a function that releases them */
export async function holdRequests(page: Page, route: string): Promise<() => void> {
  let answer!: () => void
  const told = new Promise<void>(resolve => (answer = resolve))
  await page.route(route, async each => {
    await told
    await each.continue()
  })
  return answer
}

/** Waits until cards can be dragged: the drag-and-drop module is loaded after the board is drawn. */
export const canBeDragged = (page: Page): Promise<void> => page.locator('.card[draggable=true]').first().waitFor()

/** Quiet: no response is pending, none arrived since the last check, two frames were drawn since, and no part shows that it is loading. */
function settledOf(page: Page): () => Promise<void> {
  const asked = new Set<Request>()
  let changes = 0
  page.on('request', request => {
    changes++
    asked.add(request)
  })
  const end = (request: Request) => {
    changes++
    asked.delete(request)
  }
  page.on('requestfinished', end)
  page.on('requestfailed', end)
  let seen: number | undefined
  const look = async () => {
    const isLoading = await page.evaluate<boolean>(drawn)
    const before = seen
    seen = changes
    if (asked.size > 0) throw new Error(`No answer yet: ${[...asked].map(request => request.url()).join(', ')}`)
    if (isLoading) throw new Error('The page shows that it is loading')
    if (seen !== before) throw new Error('Answers come all the time')
  }
  return () => {
    seen = undefined
    return vi.waitFor(look, { timeout: waitMs, interval: 20 })
  }
}

/** React draws a response within the first frame, and its effects within the second. Dialogs appear in a motion. */
const drawn = `new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))
  .then(() => document.getAnimations().filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity))
  .then(motions => Promise.allSettled(motions.map(({ finished }) => finished)))
  .then(() => document.body.textContent.includes('Loading…'))`

async function axeViolationsOf(page: Page): Promise<string[]> {
  await page.evaluate(drawn)
  await page.evaluate(axe.source)
  const found = await page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run({
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    })
    return violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ html, failureSummary }) => ({ id, help, html, failureSummary })),
    )
  })
  return found.map(
    ({ id, help, html, failureSummary }) => `${id}: ${help} at ${html.slice(0, 200)} (${failureSummary})`,
  )
}
