import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { chromium, type Browser, type Page } from 'playwright-core'
import { createClient } from '../../src/client/index.ts'
import { chromiumPath } from '../support/browsers/chromium.ts'
import { agent, makeWebShop, type WebShop } from './webShop.ts'

/** The folder of the run, the board's program, the agent that works in the shop, and the folder for the pictures. */
export interface Places {
  folder: string
  board: string
  agent: string
  pictures: string
}
interface Picture {
  at: (shop: WebShop) => string
  /** Waits until the page shows the content of the picture. */
  shows: (page: Page) => Promise<unknown>
  colorScheme?: 'light' | 'dark'
  viewport?: { width: number; height: number }
}

const wide = { width: 1280, height: 760 }
const phone = { width: 360, height: 780 }
const onBoard = (page: Page) => page.getByText('npm test -- login').waitFor()

const pictures: Record<string, Picture> = {
  'board-light': { at: ({ projectId }) => `#/projects/${projectId}`, shows: onBoard },
  'board-dark': { at: ({ projectId }) => `#/projects/${projectId}`, shows: onBoard, colorScheme: 'dark' },
  'card-running': {
    at: ({ projectId, running }) => `#/projects/${projectId}/cards/${running}`,
    shows: page => page.getByText('npm test -- login').first().waitFor(),
  },
  review: {
    at: ({ projectId, reviewed }) => `#/projects/${projectId}/cards/${reviewed}/changes`,
    shows: page => page.getByText('Please add a cart').first().waitFor(),
  },
  phone: {
    at: ({ projectId }) => `#/projects/${projectId}`,
    shows: page => page.getByRole('link', { name: 'Search is slow' }).waitFor(),
    viewport: phone,
  },
}
const maxBytes = 300_000

/** Takes the pictures of the documentation from a real board in a real browser. */
export async function takePictures(places: Places): Promise<void> {
  if (chromiumPath === undefined) throw new Error('There is no chromium here.')
  mkdirSync(places.pictures, { recursive: true })
  const dataDir = join(places.folder, 'data')
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const agents = { [agent]: { command: [process.execPath, places.agent] } }
  writeFileSync(join(dataDir, 'config.json'), JSON.stringify({ agents }))
  const server = spawn(process.execPath, [places.board, 'serve', '--port', '0', '--data-dir', dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] })
  try {
    const url = await urlOf(server)
    const { token } = JSON.parse(readFileSync(join(dataDir, 'daemon.json'), 'utf8')) as { token: string }
    const client = createClient({ url, token })
    const shop = await makeWebShop(client, join(places.folder, 'web-shop'))
    for (const [name, picture] of Object.entries(pictures)) {
      const { ticket } = await client.auth.createTicket()
      const path = join(places.pictures, `${name}.png`)
      await take(browser, `${url}/#/ticket/${ticket}${picture.at(shop).slice(1)}`, picture, path)
      const { size } = statSync(path)
      console.log(`${path}: ${Math.round(size / 1000)} kB`)
      if (size > maxBytes) throw new Error(`${path} is larger than ${maxBytes / 1000} kB.`)
    }
  } finally {
    await browser.close()
    server.kill('SIGTERM')
    await once(server, 'exit')
  }
}

async function urlOf(server: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: server.stdout! })) {
    const url = /^Listening on (http:\S+)$/.exec(line)?.[1]
    if (url) return url
  }
  throw new Error('The server ended before it listened.')
}

async function take(browser: Browser, address: string, picture: Picture, path: string): Promise<void> {
  const { viewport = wide, colorScheme = 'light', shows } = picture
  const context = await browser.newContext({ viewport, colorScheme, deviceScaleFactor: 1.5, reducedMotion: 'reduce' })
  const page = await context.newPage()
  await page.goto(address)
  await shows(page)
  await page.waitForLoadState('networkidle')
  await delay(500)
  await page.screenshot({ path })
  await context.close()
}
