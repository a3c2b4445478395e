import { toNodeHandler } from 'h3/node'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { createApp, type App } from '../src/app.ts'
import type { Host } from '../src/backups/restoring.ts'
import { causeOf, from } from '../src/config/log.ts'
import type { ServerConfig } from '../src/config/server.ts'
import { Problem } from '../src/contract/errors.ts'
import { isOpen, requireClosedDoor } from '../src/identity/authSettings.ts'
import type { Logs } from '../src/logs/logs.ts'
import { describeFigures } from './figures.ts'
import { createGate, type Gate, type Listener } from './gate.ts'
import { createHttp } from './http.ts'
import { createSocket, type Socket } from './socket.ts'
import { closeCodes } from './socket/connection.ts'
import { startTimetable } from './timetable.ts'

/** How long what is being answered may take when the board is taken down. */
export const drainMs = 10_000

/** The board on a data folder, as it answers. A restore takes it down and opens another one in its place. */
export interface Serving {
  /** The board that is open now. */
  readonly app: App
  listen: Listener
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  sockets(): number
  /** Takes up periodic work and agents, which reach the server at this address. */
  start(url: string): void
  /** Ends what goes on by itself: periodic work, agents, sockets, and a restore that is going on. */
  quiet(): Promise<void>
  close(): Promise<void>
}

interface Open { app: App; answer: Listener; socket: Socket; timetable?: { stop(): Promise<void> } }
/** What is served now. `open` opens a board in its place, `url` is where it answers once it does. */
interface State { now: Open; open(localToken?: string): Promise<Open>; url?: string; replacing?: Promise<unknown>; onReplaced(app: App): void; logs: Logs }

/** @param onReplaced told of each board that a restore puts in place */
export async function openServing(config: ServerConfig, logs: Logs, onReplaced: (app: App) => void = () => {}): Promise<Serving> {
  const host: Host = {
    replace: (request, keep, swap) => {
      if (state.replacing) throw new Problem('CONFLICT', 'A backup is being restored already.')
      const replaced = replace(state, gate, request, keep, swap).finally(() => { state.replacing = undefined })
      state.replacing = replaced.catch(() => { /* Who asked is told. */ })
      return replaced
    },
  }
  const openBoard = (localToken?: string) => open(config, logs, host, localToken)
  const state: State = { now: await openBoard(), open: openBoard, onReplaced, logs }
  const gate = createGate(() => state.now.answer)
  return {
    get app() { return state.now.app },
    listen: gate.listen,
    handleUpgrade: (request, socket, head) => state.now.socket.handleUpgrade(request, socket, head),
    sockets: () => state.now.socket.count(),
    start: url => {
      state.url = url
      start(state)
    },
    quiet: async () => {
      state.url = undefined
      // What makes a backup is ended rather than waited for.
      await state.now.app.backups.close()
      await state.replacing
      await Promise.all([state.now.timetable?.stop(), state.now.app.stopWork(), state.now.socket.close()])
    },
    close: () => state.now.app.close(),
  }
}

function start({ url, now, logs }: State): void {
  if (url === undefined) return
  now.timetable = startTimetable(now.app, from(logs.log, 'timetable'))
  now.app.startWork(url)
}

/** Takes the board down, lets its state be kept and swapped, and opens what is there then: the new one, or the old one again. */
async function replace<T>(state: State, gate: Gate, request: IncomingMessage, keep: () => Promise<T>, swap: (kept: T) => Promise<void>): Promise<T> {
  const { app, socket, timetable } = state.now
  await gate.narrow('reading', request, drainMs)
  await Promise.all([timetable?.stop(), app.stopWork()])
  const kept = await outcomeOf(keep)
  await Promise.all([gate.narrow('closed', request, drainMs), socket.close(closeCodes.restarting)])
  await app.close()
  const swapped = 'error' in kept ? kept : await outcomeOf(() => swap(kept.value))
  state.now = await state.open(app.identity.localToken).catch((error: unknown) => {
    state.logs.log('error', 'The board could not be opened again. Restart the server.', { cause: causeOf(error) })
    throw error
  })
  start(state)
  state.onReplaced(state.now.app)
  gate.widen()
  if ('error' in kept) throw kept.error
  if ('error' in swapped) throw swapped.error
  return kept.value
}

const outcomeOf = <T>(work: () => Promise<T>): Promise<{ value: T } | { error: unknown }> => work().then(value => ({ value }), (error: unknown) => ({ error }))

async function open(config: ServerConfig, logs: Logs, host: Host, localToken?: string): Promise<Open> {
  const app = await createApp(config, logs, { host, localToken })
  try {
    await requireClosedDoor(app)
    if (await isOpen(app)) logs.log('warn', 'Authentication is switched off: everybody on this machine acts as super_admin.')
    await app.catalogue.list().catch((error: Error) => logs.log('warn', `${error.message} Until that is mended, no agent starts.`, { file: join(config.dataDir, 'config.json') }))
    const socket = createSocket(app, from(logs.log, 'socket'))
    describeFigures(app, socket.count)
    return { app, socket, answer: toNodeHandler(createHttp(app)) as Listener }
  } catch (error) {
    await app.close().catch((cause: unknown) => logs.log('error', 'The board could not be closed.', { cause: causeOf(cause) }))
    throw error
  }
}
