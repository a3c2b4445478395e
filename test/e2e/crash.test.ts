import LibsqlDatabase from 'libsql'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, expect, it } from 'vitest'
import { createClient, Unreachable, type Client } from '../../src/client/index.ts'
import { eventually, hideAgents } from '../helper.ts'
import { follow } from '../liveSocket.ts'

/** For longer runs by hand: BOARD_CRASH_CYCLES, and the seed that a failure prints as BOARD_CRASH_SEED. */
const cycles = Number(process.env.BOARD_CRASH_CYCLES ?? 10)
const seed = Number(process.env.BOARD_CRASH_SEED ?? Date.now() % 1_000_000)
const writers = 16
const readyMs = 2000

const root = mkdtempSync(join(tmpdir(), 'board-crash-'))
const dataDir = join(root, 'data')
hideAgents(dataDir)
let running: Running | undefined
afterAll(async () => {
  if (running) await kill(running)
  rmSync(root, { recursive: true, force: true })
})

interface Running { child: ChildProcess; url: string; token: string; client: Client; stderr: string[] }

/** Starts the real program, and holds it to being ready in time. */
async function start(): Promise<Running> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [resolve('bin/board.js'), 'serve', '--port', '0', '--data-dir', dataDir], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr]: [string[], string[]] = [[], []]
  child.stdout!.on('data', chunk => stdout.push(String(chunk)))
  child.stderr!.on('data', chunk => stderr.push(String(chunk)))
  const url = await eventually('the server\'s address', () => {
    if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode}: ${stderr.join('')}`)
    return /Listening on (\S+)/.exec(stdout.join(''))?.[1]
  }, 10_000)
  expect((await fetch(`${url}/api/ready`)).status).toBe(200)
  expect(performance.now() - startedAt).toBeLessThan(readyMs)
  const { token } = JSON.parse(readFileSync(join(dataDir, 'daemon.json'), 'utf8')) as { token: string }
  return running = { child, url, token, client: createClient({ url, token }), stderr }
}

async function kill({ child }: Running, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
  running = undefined
}

/** A repeatable source of numbers below `limit`. */
function numbers(state: number): (limit: number) => number {
  return limit => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9 | 0
    return (state >>> 0) % limit
  }
}
const random = numbers(seed)

/** What a card must be like after every change of it that was acknowledged. */
interface State { title: string; columnId: string; archived: boolean; deleted: boolean; version: number }
/** A card of one writer, the change whose answer has not come, and the ids of its attachments. */
interface Entry { id: string; state: State; pending?: State; attachments: string[] }
/** The writer's create whose answer has not come. */
interface Ledger { entries: Entry[]; creating?: { title: string; key: string } }

let projectId: string
let columns: string[]
let titles = 0
const attached = join(root, 'attached')
writeFileSync(attached, 'An attachment. '.repeat(3000))
const newTitle = () => `card ${++titles}`

async function create(client: Client, ledger: Ledger): Promise<void> {
  ledger.creating ??= { title: newTitle(), key: crypto.randomUUID() }
  const { title, key } = ledger.creating
  const card = await client.cards.create({ projectId, title, columnId: columns[0] }, { idempotencyKey: key })
  ledger.entries.push({ id: card.id, state: { title, columnId: card.columnId, archived: false, deleted: false, version: 1 }, attachments: [] })
  ledger.creating = undefined
}

async function change(client: Client, entry: Entry): Promise<void> {
  const { id: cardId, state } = entry
  const ref = { projectId, cardId }
  const kind = random(10)
  if (kind < 4) {
    const columnId = columns[random(3)]!
    // A move to where the card stands already is no change, so that the version cannot be foretold: it always goes elsewhere.
    if (columnId === state.columnId) return
    entry.pending = { ...state, columnId, archived: false, version: state.version + 1 }
    await client.cards.move({ ...ref, columnId, position: random(50) })
  } else if (kind < 8) {
    entry.pending = { ...state, title: newTitle(), version: state.version + 1 }
    await client.cards.update({ ...ref, title: entry.pending.title })
  } else if (kind < 9) {
    entry.pending = { ...state, archived: !state.archived, version: state.version + 1 }
    await (state.archived ? client.cards.unarchive(ref) : client.cards.archive(ref))
  } else {
    entry.pending = { ...state, deleted: true, version: state.version + 1 }
    await client.cards.delete(ref)
  }
  entry.state = entry.pending
  entry.pending = undefined
}

/** Writes until the server is gone, and counts what was acknowledged. */
async function write(client: Client, ledger: Ledger, onAcknowledged: () => void): Promise<void> {
  try {
    for (;;) {
      const entry = ledger.entries[random(ledger.entries.length || 1)]
      if (!entry || entry.state.deleted || random(3) === 0) await create(client, ledger)
      else if (random(12) === 0) entry.attachments.push((await client.attachments.create({ projectId, cardId: entry.id, file: { path: attached } })).id)
      else await change(client, entry)
      onAcknowledged()
    }
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
  }
}

/** A whole list that comes in pages of 1,000; `next` tells where the next page begins. */
async function pages<T>(read: (from: number) => Promise<T[]>, next: (items: T[]) => number): Promise<T[]> {
  const items: T[] = []
  for (let from = 0, page: T[] | undefined; page?.length !== 0; from = next(items)) items.push(...page = await read(from))
  return items
}

async function allCards(client: Client): Promise<Map<string, State>> {
  const lists = await Promise.all([false, true].map(archived => pages(cursor => client.cards.list({ projectId, archived, cursor }), items => Number(items.at(-1)?.id ?? 0))))
  return new Map(lists.flat().map(({ id, title, columnId, archivedAt, version }) => [id, { title, columnId, archived: archivedAt !== null, deleted: false, version }]))
}

/** Holds the server to every acknowledged write. Of one without an answer it may have all or nothing. */
async function expectKept({ client }: Running, ledgers: Ledger[]): Promise<void> {
  for (const ledger of ledgers) if (ledger.creating) await create(client, ledger)
  const cards = await allCards(client)
  const entries = ledgers.flatMap(ledger => ledger.entries)
  for (const entry of entries) {
    const found = cards.get(entry.id)
    const { state, pending } = entry
    const present = found ?? { ...(pending?.deleted ? pending : state), deleted: true }
    expect([state, ...(pending ? [pending] : [])], `card ${entry.id}, seed ${seed}`).toContainEqual(present)
    Object.assign(entry, { state: present, pending: undefined })
  }
  expect([...cards.keys()].sort()).toEqual(entries.filter(({ state }) => !state.deleted).map(({ id }) => id).sort())
  await expectAttached(client, entries)
  for (const columnId of columns) {
    const items = await pages(at => client.cards.list({ projectId, columnId, offset: at }), items => items.length)
    expect(items.map(({ position }) => position)).toEqual(items.map((_, at) => at))
    expect(new Set(items.map(({ id }) => id))).toEqual(new Set([...cards].filter(([, card]) => card.columnId === columnId && !card.archived).map(([id]) => id)))
  }
}

/** Every attachment is listed, and one of each card's has all its bytes. */
async function expectAttached(client: Client, entries: Entry[]): Promise<void> {
  for (const { id: cardId, attachments } of entries.filter(({ state, attachments }) => !state.deleted && attachments.length > 0)) {
    const listed = new Map((await client.attachments.list({ projectId, cardId })).map(({ id, size }) => [id, size]))
    expect(attachments.map(id => listed.get(id))).toEqual(attachments.map(() => 45_000))
    const { body } = await client.attachments.download({ attachmentId: attachments.at(-1)! })
    expect((await buffer(body)).equals(readFileSync(attached))).toBe(true)
  }
}

/** Holds the events to the cards: no seq is missing, and each card's newest event tells of its version. Returns the last seq. */
async function expectTold({ url, token }: Running, since: number, ledgers: Ledger[], told: Map<string, number>): Promise<number> {
  const live = await follow(url, token, projectId, since)
  const seqs = live.seqs()
  expect(seqs).toEqual(seqs.map((_, at) => since + 1 + at))
  for (const { type, data } of live.messages) if (type.startsWith('card.')) told.set(data.id, data.version ?? (told.get(data.id) ?? 0) + 1)
  live.close()
  for (const { id, state } of ledgers.flatMap(ledger => ledger.entries)) expect([id, told.get(id)]).toEqual([id, state.version])
  return since + seqs.length
}

it(`no acknowledged write is lost in ${cycles} crashes under load (seed ${seed})`, async () => {
  const ledgers: Ledger[] = Array.from({ length: writers }, () => ({ entries: [] }))
  const told = new Map<string, number>()
  let server = await start()
  projectId = (await server.client.projects.create({ name: 'Crash', path: root })).id
  columns = (await server.client.columns.list({ projectId })).map(({ id }) => id)
  let seq = 0
  for (let cycle = 0; cycle < cycles; cycle++) {
    let left = 50 + random(200)
    let killed: Promise<void> | undefined
    const { client } = server
    await Promise.all(ledgers.map(ledger => write(client, ledger, () => { if (--left === 0) killed = kill(server) })))
    await killed
    expect(server.stderr.join('')).toBe('')
    server = await start()
    await expectKept(server, ledgers)
    seq = await expectTold(server, seq, ledgers, told)
  }
  await kill(server, 'SIGTERM')
  expectSound(seq, ledgers)
}, 30_000 + cycles * 5000)

/** Looks into the file itself, when nobody else has it open any more. */
function expectSound(lastSeq: number, ledgers: Ledger[]): void {
  const file = new LibsqlDatabase(join(dataDir, 'board.db'), { readonly: true })
  const rows = (sql: string) => file.prepare(sql).all([]).map(row => Object.values(row as object))
  expect(rows('PRAGMA integrity_check')).toEqual([['ok']])
  expect(rows('PRAGMA foreign_key_check')).toEqual([])
  expect(rows('SELECT min(seq), max(seq), count(*) FROM events')).toEqual([[1, lastSeq, lastSeq]])
  expect(rows('SELECT count(*) FROM cards')).toEqual([[ledgers.flatMap(({ entries }) => entries).length]])
  file.close()
}
