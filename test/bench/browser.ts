import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { chromium, type Browser, type Page } from 'playwright-core'
import { createClient, type Client } from '../../src/client/index.ts'
import { chromiumPath } from '../support/browsers/chromium.ts'
import { seedForBrowser, type BrowserSeed, type Transcript } from './browserSeed.ts'
import { framesOf, heapOf, openWindow, type Frames, type Window } from './browserWindow.ts'
import { startChild } from './child.ts'
import { note, quantile, type Figures } from './figures.ts'
import type { Bench } from './bench.ts'
import type { Options } from './options.ts'
import { flooder, type SeededProject } from './seed.ts'

export const agentCount = 20
const frameMs = 20
const saidEveryMs = 50
const [card, inFirstColumn] = ['.card-title', (id: number) => `[data-column="${id}"] ${card}`]

interface Bed {
  browser: Browser
  url: string
  client: Client
  seed: BrowserSeed
  open(): Promise<Window>
  options: Options
  figures: Figures
}

/**
 * Measures the page of the board in Chromium, next to a page that shows only a response of the server. Records `browser/...`:
 * kB of `script`; ms from the first byte to the first `paint` and until a board of many cards is `usable`; during scrolling, dragging
 * and agents' output the share of `late` frames (%) and the longest `task` (ms); `event` (ms, p95); the heap (MB) after half of an hour's
 * events and after all of them; ms to open a `transcript`.
 */
export async function measureBrowser(
  bench: Bench,
  options: Options,
  figures: Figures,
  tell: (text: string) => void,
): Promise<void> {
  if (chromiumPath === undefined) return tell('there is no Chromium: omitted')
  note(figures, 'browser/script', scriptOf(bench.web) / 1000)
  const seed = await seedForBrowser(bench.folder, {
    command: [process.execPath, bench.flood],
    env: {
      FIXTURE_UPDATES: String(options.streamMs / saidEveryMs),
      FIXTURE_EVERY_MS: String(saidEveryMs),
      FIXTURE_BYTES: '40',
    },
  })
  const server = await startChild(join(bench.folder, 'server.mjs'), {
    dataDir: seed.dataDir,
    webRoot: bench.web,
    agentSlots: agentCount,
  })
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] })
  const url = `http://127.0.0.1:${server.port}`
  const bed: Bed = {
    browser,
    url,
    client: createClient({ url, token: seed.token }),
    seed,
    open: () => openWindow(browser, bench.meter, seed.token),
    options,
    figures,
  }
  const works = { opening, scrolling, dragging, events, transcripts, memory, agents }
  try {
    for (const [name, work] of Object.entries(works)) {
      tell(`browser: ${name}`)
      await work(bed)
    }
  } finally {
    await browser.close()
    await server.stop()
  }
}

/** The compressed bytes of the page's script and its imports: all that the board needs for its first paint. */
function scriptOf(web: string): number {
  const page = readFileSync(join(web, 'index.html'), 'utf8')
  return [...page.matchAll(/<(?:script type="module"|link rel="modulepreload") [^>]*="([^"]+)">/g)]
    .map(([, path]) => statSync(join(web, `${path}.gz`)).size)
    .reduce((sum, size) => sum + size, 0)
}

const boardOf = ({ url }: Bed, { projectId }: SeededProject) => `${url}/#/projects/${projectId}`

/** Each time in a new window without caches. */
async function opening(bed: Bed): Promise<void> {
  for (let run = 0; run <= bed.options.startRuns; run++) {
    const bare = await bed.open()
    await bare.page.goto(`${bed.url}/api/health`)
    const bareMs = (await bare.meter<number>('painted()')) - (await bare.meter<number>('firstByte()'))
    await bare.close()

    const window = await bed.open()
    const { page, meter } = window
    await page.goto(boardOf(bed, bed.seed.many), { waitUntil: 'commit' })
    const focused = meter<number>(`focused('${card}')`)
    await meter(`until('${inFirstColumn(bed.seed.many.columnId)}')`)
    const isFocused = focused.then(() => true)
    do await page.keyboard.press('j')
    while (!(await Promise.race([isFocused, delay(10, false)])))
    const firstByte = await meter<number>('firstByte()')
    if (run > 0) {
      note(bed.figures, 'browser/bare/paint', bareMs)
      note(bed.figures, 'browser/paint', (await meter<number>('painted()')) - firstByte)
      note(bed.figures, 'browser/usable', (await focused) - firstByte)
    }
    await window.close()
  }
}

async function onBoard(bed: Bed, project: SeededProject, work: (window: Window) => Promise<void>): Promise<void> {
  const window = await bed.open()
  await window.page.goto(boardOf(bed, project))
  await window.meter(`until('${card}')`)
  await window.page.waitForLoadState('networkidle')
  await work(window)
  await window.close()
}

/** Records the frames during `work`, next to those of an idle page. */
async function noteFrames(bed: Bed, name: string, window: Window, work: () => Promise<unknown>): Promise<void> {
  const bare = await bed.open()
  await bare.page.goto(`${bed.url}/api/health`)
  const alone = await framesOf(bare, () => delay(bed.options.framesMs))
  await bare.close()
  await window.page.bringToFront()
  const measured = await framesOf(window, work)
  note(bed.figures, `browser/${name}/late`, lateOf(measured))
  note(bed.figures, `browser/${name}/task`, measured.maxTaskMs)
  note(bed.figures, `browser/${name}/bare late`, lateOf(alone))
  note(bed.figures, `browser/${name}/bare gap`, Math.max(...alone.gaps))
}

const lateOf = ({ gaps }: Frames) => (gaps.filter(gap => gap > frameMs).length / gaps.length) * 100

const scrolling = (bed: Bed) =>
  onBoard(bed, bed.seed.many, async window => {
    const { page } = window
    const box = (await page.locator(inFirstColumn(bed.seed.many.columnId)).first().boundingBox())!
    await page.mouse.move(box.x + 20, box.y + 200)
    for (let round = 0; round < bed.options.rounds; round++)
      await noteFrames(bed, 'scrolling', window, () =>
        during(bed.options.framesMs, async turn => {
          await page.mouse.wheel(0, turn % 200 < 150 ? 180 : -180)
          await delay(8)
        }),
      )
  })

const dragging = (bed: Bed) =>
  onBoard(bed, bed.seed.many, async window => {
    const { page } = window
    for (let round = 0; round < bed.options.rounds; round++) {
      const from = (await page.locator(inFirstColumn(bed.seed.many.columnId)).first().boundingBox())!
      const [x, y] = [from.x + 20, from.y + 8]
      await page.mouse.move(x, y)
      await page.mouse.down()
      await page.mouse.move(x + 10, y + 10, { steps: 4 })
      await window.meter(`until('.card.dragged')`)
      await noteFrames(bed, 'dragging', window, () =>
        during(bed.options.framesMs, turn =>
          page.mouse.move(x + 320 * (1 - Math.cos(turn / 40)), y + 180 * (1 - Math.cos(turn / 15))),
        ),
      )
      await page.mouse.move(x + 10, y + 10, { steps: 4 })
      await page.mouse.up()
    }
  })

async function during(ms: number, work: (turn: number) => Promise<unknown>): Promise<void> {
  const endsAt = performance.now() + ms
  for (let turn = 0; performance.now() < endsAt; turn++) await work(turn)
}

/** Measures the time from another client's request until the card is at the top. */
const events = (bed: Bed) =>
  onBoard(bed, bed.seed.many, async ({ meter }) => {
    const { many } = bed.seed
    for (let round = 0; round < bed.options.rounds; round++) {
      const [tookMs, answeredMs]: [number[], number[]] = [[], []]
      for (let turn = 0; turn < bed.options.eventsARound; turn++) {
        const cardId = String(many.firstCardId + 1 + ((turn * 37) % (manyOf(many) - 1)))
        const place = `[data-column="${many.columnId}"] [aria-posinset="1"] ${card}[href$="/cards/${cardId}"]`
        await meter(`keep(${JSON.stringify(place)})`)
        const askedAt = Date.now()
        const startedAt = performance.now()
        await moveToTop(bed, cardId)
        answeredMs.push(performance.now() - startedAt)
        tookMs.push((await meter<number>(`kept(${JSON.stringify(place)})`)) - askedAt)
        await delay(Math.random() * 40)
      }
      note(bed.figures, 'browser/event', quantile(tookMs, 0.95))
      note(bed.figures, 'browser/event/half', quantile(tookMs, 0.5))
      note(bed.figures, 'browser/event/answer', quantile(answeredMs, 0.95))
    }
  })

const manyOf = ({ cards }: SeededProject) => cards

const moveToTop = ({ client, seed: { many } }: Bed, cardId: string) =>
  client.cards.move({ projectId: String(many.projectId), cardId, columnId: String(many.columnId), position: 0 })

const transcripts = (bed: Bed) =>
  onBoard(bed, bed.seed.few, async window => {
    const { short, long } = bed.seed.transcripts
    for (let run = 0; run <= bed.options.startRuns; run++)
      for (const [name, transcript] of Object.entries({ short, long })) {
        const tookMs = await openTranscript(bed, window, transcript)
        if (run > 0) note(bed.figures, `browser/transcript/${name}`, tookMs)
      }
  })

async function openTranscript(
  bed: Bed,
  { page, meter }: Window,
  { projectId, cardId, lastId }: Transcript,
): Promise<number> {
  const address = `#/projects/${projectId}/cards/${cardId}`
  const tookMs = await page.evaluate(`(async () => {
    const from = boardMeter.now()
    location.hash = ${JSON.stringify(address)}
    return (await boardMeter.until('[data-id="${lastId}"]')) - from
  })()`)
  await page.evaluate(`location.hash = ${JSON.stringify(`#/projects/${bed.seed.few.projectId}`)}`)
  await meter(`until('${card}')`)
  return tookMs as number
}

/** Moves and renames cards on an open board, as often as in a busy hour. */
const memory = (bed: Bed) =>
  onBoard(bed, bed.seed.many, async ({ page, meter }) => {
    const { many } = bed.seed
    let sent = 0
    const send = async (until: number) => {
      while (sent < until) {
        const cardId = String(many.firstCardId + ((sent * 61) % manyOf(many)))
        const projectId = String(many.projectId)
        if (++sent % 2) await moveToTop(bed, cardId)
        else await bed.client.cards.update({ projectId, cardId, title: `Card ${sent}, named anew` })
      }
    }
    const measure = async () => {
      const cardId = String(many.firstCardId + 7)
      await bed.client.cards.update({ projectId: String(many.projectId), cardId, title: `After ${sent}` })
      await moveToTop(bed, cardId)
      await meter(`until('[aria-posinset="1"] ${card}[href$="/cards/${cardId}"]')`)
      await settled(page)
      return heapOf(page)
    }
    for (const part of [0, 0.5, 1]) {
      await Promise.all(Array.from({ length: 8 }, () => send(part * bed.options.hourOfEvents)))
      note(bed.figures, `browser/heap/${part}`, await measure())
    }
  })

const settled = async (page: Page) => {
  await page.waitForLoadState('networkidle')
  await delay(1000)
}

/** All agents write concurrently, each several times a second. */
const agents = (bed: Bed) =>
  onBoard(bed, bed.seed.few, async window => {
    const { few } = bed.seed
    const projectId = String(few.projectId)
    const cardIds: string[] = []
    for (let at = 0; at < agentCount; at++) {
      const { id } = await bed.client.cards.create({
        projectId,
        columnId: String(few.activeColumnId),
        title: `Say much, ${at}`,
        prompt: 'Speak.',
        agent: flooder,
        useWorktree: false,
      })
      cardIds.push(id)
    }
    const running = async () =>
      (await Promise.all(cardIds.map(cardId => bed.client.cards.get({ projectId, cardId })))).filter(
        ({ status }) => status === 'running',
      ).length
    const giveUpAt = performance.now() + 30_000
    while ((await running()) < agentCount) {
      if (performance.now() > giveUpAt) throw new Error(`Only ${await running()} of ${agentCount} agents are at work.`)
      await delay(200)
    }
    for (let round = 0; round < bed.options.rounds; round++) {
      await noteFrames(bed, 'agents', window, () => delay(bed.options.framesMs))
      note(bed.figures, 'browser/agents/running', await running())
    }
  })
