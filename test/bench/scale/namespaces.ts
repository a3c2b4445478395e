import { readdirSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startLibsqlServer, type LibsqlServer } from '../../support/servers/libsqlServer.ts'
import { median } from '../figures.ts'
import { moveTo } from '../moveTo.ts'
import { cpuMsOf, residentMegabytes } from '../processes.ts'
import type { Measured } from './measured.ts'

const count = 200
const settleMs = 3000
/** The namespace that `moveTo` fills: an address up to its first dot. */
const source = '127'

/** Folders of two boards, one of them empty and one with a team's work, and the folders of the programs. */
export interface Boards {
  board: string
  testsFolder: string
  emptyDataDir: string
  filledDataDir: string
}

/** Measures the requirements of a libSQL server per namespace, each with the board's schema. */
export async function measureNamespaces(boards: Boards): Promise<Pick<Measured, 'sqld' | 'namespace'>> {
  const server = await startLibsqlServer({ maxActive: 2 * count, testsFolder: boards.testsFolder })
  try {
    moveTo(server.url, boards.board, boards.emptyDataDir)
    const names = Array.from({ length: count }, (_, number) => `organization${number}`)
    const before = megabytesOf(server)
    const forkMs: number[] = []
    for (const name of names)
      forkMs.push(await timed(() => post(new URL(`/v1/namespaces/${source}/fork/${name}`, server.adminUrl))))
    for (const name of names) await query(server, name)
    await delay(settleMs)
    const openKilobytes = ((megabytesOf(server) - before) / count) * 1024
    const first = server.files().find(file => file.includes('/dbs/organization0/'))!
    const diskKilobytes = bytesIn(join(first, '..')) / 1024
    const emptyMegabytes = await restarted(server)
    const cold = await asked(server, names)
    const warm = await asked(server, names)
    return {
      sqld: { emptyMegabytes },
      namespace: {
        openKilobytes,
        diskKilobytes,
        coldMs: median(cold.ms),
        coldMicros: cold.micros / count,
        warmMs: median(warm.ms),
        forkMs: median(forkMs),
        ...(await measureCopy(server, boards)),
      },
    }
  } finally {
    await server.close()
  }
}

/**
 * Copies a team's work into a namespace with the board, and dumps it as SQL with the server. Loading the dump cannot copy a namespace: the
 * server does not double the quotes in the text of full-text tables, and rejects its own output.
 */
async function measureCopy(
  server: LibsqlServer,
  { board, filledDataDir }: Boards,
): Promise<Pick<Measured['namespace'], 'copyMegabytesPerSec' | 'dumpMegabytesPerSec'>> {
  const copied = statSync(join(filledDataDir, 'board.db')).size
  const copyMs = await timed(async () => moveTo(server.url, board, filledDataDir))
  let dumped = 0
  const dumpMs = await timed(async () => {
    dumped = Buffer.byteLength((await ask(server, source, 'GET', '/dump')).body)
  })
  return { copyMegabytesPerSec: perSec(copied, copyMs), dumpMegabytesPerSec: perSec(dumped, dumpMs) }
}

const perSec = (bytes: number, ms: number) => (bytes / 1024 / 1024 / ms) * 1000

/** Restarts the server, with no namespace open. @returns its memory after the restart */
async function restarted(server: LibsqlServer): Promise<number> {
  await server.kill()
  await server.restart()
  await delay(settleMs)
  return megabytesOf(server)
}

async function asked(server: LibsqlServer, names: readonly string[]): Promise<{ ms: number[]; micros: number }> {
  const ms: number[] = []
  const before = cpuMsOf(server.process().pid!)!
  for (const name of names) ms.push(await timed(() => query(server, name)))
  return { ms, micros: (cpuMsOf(server.process().pid!)! - before) * 1000 }
}

/** Runs the first statement of a request, which reads the account of a token. */
const query = (server: LibsqlServer, namespace: string) =>
  ask(server, namespace, 'POST', '/v2/pipeline', {
    requests: [
      { type: 'execute', stmt: { sql: "SELECT user_id FROM sign_in_tokens WHERE hash = ''" } },
      { type: 'close' },
    ],
  })

/** Sends a request to a namespace, which the server derives from the host name. */
async function ask(
  { httpUrl }: LibsqlServer,
  namespace: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, httpUrl), {
      method,
      headers: { host: `${namespace}.board`, 'content-type': 'application/json' },
    })
    sent.on('error', reject).on('response', response => {
      const chunks: Buffer[] = []
      response
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => {
          const text = Buffer.concat(chunks).toString()
          if (response.statusCode !== 200 || text.includes('"type":"error"'))
            reject(new Error(`${namespace}${path}: ${response.statusCode} ${text.slice(0, 300)}`))
          else resolve({ body: text })
        })
    })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

async function post(url: URL): Promise<void> {
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  })
  if (!reply.ok) throw new Error(`${url.pathname}: ${reply.status} ${await reply.text()}`)
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

const megabytesOf = (server: LibsqlServer) => residentMegabytes(server.process().pid!)

const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).blocks * 512, 0)
