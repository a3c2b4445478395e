import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { WebSocket } from 'ws'
import { reportSkipped } from '../run/reportSkipped.ts'

const program = ['firefox-esr', 'firefox']
  .flatMap(name => (process.env.PATH ?? '').split(delimiter).map(folder => join(folder, name)))
  .find(path => existsSync(path))

/** The reason why there is no Firefox here, or undefined. */
export const noFirefox: string | undefined = program ? undefined : 'there is no firefox'
if (noFirefox !== undefined) reportSkipped('Tests in Firefox', noFirefox)

/** A window of Firefox. Playwright supports only its own builds; Debian's is driven by WebDriver BiDi. */
export interface FirefoxWindow {
  /** The errors in the page, and violations of its policy. */
  problems: string[]
  goTo(url: string): Promise<void>
  /** The value of an expression in the page. */
  read(expression: string): Promise<unknown>
  /** Presses keys sequentially: `K`, or a name such as `Enter`; modifiers come before it: `Control+k`. */
  press(...keys: string[]): Promise<void>
  close(): Promise<void>
}

/** The code points of WebDriver for keys without a character. */
const keyCodes: Record<string, string> = { Enter: '\uE007', Escape: '\uE00C', Control: '\uE009', Shift: '\uE008' }

/** Opens a window with a new profile. */
export async function openFirefox({ width, height }: { width: number; height: number }): Promise<FirefoxWindow> {
  const profile = mkdtempSync(join(tmpdir(), 'board-firefox-'))
  const child = spawn(program!, ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  let address: string | undefined
  for await (const line of createInterface(child.stderr)) {
    address = /WebDriver BiDi listening on (ws:\S+)/.exec(line)?.[1]
    if (address) break
  }
  child.stderr.resume()
  const { send, socket, problems } = await connect(`${address}/session`)
  await send('session.new', { capabilities: {} })
  await send('session.subscribe', { events: ['log.entryAdded'] })
  const { contexts } = await send('browsingContext.getTree', {})
  const { context } = contexts[0]
  await send('browsingContext.setViewport', { context, viewport: { width, height } })
  return {
    problems,
    goTo: url => send('browsingContext.navigate', { context, url, wait: 'complete' }),
    read: async expression => {
      const asked = { expression: `JSON.stringify(${expression})`, target: { context }, awaitPromise: true }
      const { result } = await send('script.evaluate', asked)
      return result?.value === undefined ? undefined : (JSON.parse(result.value) as unknown)
    },
    press: async (...keys) => {
      const actions = keys.flatMap(key => {
        const values = (key.length > 1 ? key.split('+') : [key]).map(name => keyCodes[name] ?? name)
        const part = (type: string) => (value: string) => ({ type, value })
        return [...values.map(part('keyDown')), ...values.toReversed().map(part('keyUp'))]
      })
      await send('input.performActions', { context, actions: [{ type: 'key', id: 'keys', actions }] })
    },
    close: async () => {
      socket.close()
      child.kill('SIGKILL')
      await ended
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

async function connect(url: string) {
  const socket = new WebSocket(url)
  const waiting = new Map<number, { resolve: (result: any) => void; reject: (error: Error) => void }>()
  const problems: string[] = []
  socket.on('message', data => {
    const { id, result, message, method, params } = JSON.parse(String(data))
    if (method === 'log.entryAdded' && params.level === 'error') problems.push(params.text)
    const asked = waiting.get(id)
    waiting.delete(id)
    if (result === undefined) asked?.reject(new Error(message))
    else asked?.resolve(result)
  })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  let last = 0
  const send = (method: string, params: object): Promise<any> =>
    new Promise((resolve, reject) => {
      const id = ++last
      waiting.set(id, { resolve, reject })
      socket.send(JSON.stringify({ id, method, params }))
    })
  return { send, socket, problems }
}
