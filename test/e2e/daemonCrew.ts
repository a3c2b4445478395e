import { createClient as createDatabaseClient } from '@libsql/client'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { hideAgents } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import type { LibsqlServer } from '../support/servers/libsqlServer.ts'
import { openSocket } from '../support/receivers/liveSocket.ts'
import { boardProcess, type BoardProcess } from '../support/processes/boardProcess.ts'
import { cuttableLine, type CuttableLine } from './cuttableLine.ts'

/** One of several daemons on a database: its process, its connection to the database, its requests and its events. */
export interface Crewmate {
  name: string
  machine: string
  board: BoardProcess
  line: CuttableLine
  /** Cards with an acknowledged create, by title. */
  made: string[]
  /** The response time of each write, successful or not. */
  answeredAfterMs: number[]
  /** The seqs that a follower of its live events received, over all connections. */
  seqs: number[]
}

/** A commit delays others for at most 50 ms. */
const heldUpMs = 500

export async function startCrewmate(
  name: string,
  machine: string,
  server: LibsqlServer,
  root: string,
  secretKey: string,
): Promise<Crewmate> {
  const line = await cuttableLine(Number(new URL(server.url).port))
  const dataDir = join(root, name)
  hideAgents(dataDir)
  const board = boardProcess(dataDir, { HOME: root, BOARD_SECRET_KEY: secretKey }, [
    '--database',
    `ws://127.0.0.1:${line.port}`,
    '--machine',
    machine,
  ])
  await board.start()
  return { name, machine, board, line, made: [], answeredAfterMs: [], seqs: [] }
}

/** Ends the started processes of a crew and its database, and removes their folder. */
export async function disband(
  crew: readonly Crewmate[] | undefined,
  server: LibsqlServer | undefined,
  root: string,
): Promise<void> {
  for (const { board, line } of crew ?? []) {
    if (board.isRunning()) await board.end('SIGKILL')
    await line.close()
  }
  await server?.close()
  rmSync(root, { recursive: true, force: true, maxRetries: 5 })
}

/** Creates cards through a daemon, sequentially, until it is stopped. A failed create is retried under another title. */
export async function keepWriting(
  mate: Crewmate,
  projectId: string,
  columnId: string,
  { signal, pauseMs, writer }: { signal: AbortSignal; pauseMs: number; writer: number },
): Promise<void> {
  for (let number = 0; !signal.aborted; number++) {
    const title = `${mate.name} ${writer} ${number}`
    const began = performance.now()
    const isMade = await mate.board.client.cards.create({ projectId, columnId, title, deferred: true }).then(
      () => true,
      () => false,
    )
    mate.answeredAfterMs.push(performance.now() - began)
    if (isMade) mate.made.push(title)
    await delay(isMade ? pauseMs : 100)
  }
}

/** Pauses a daemon in the middle of one of its writes, which a client keeps it busy with. Returns when it was paused. */
export function stopInsideWrite({ board: { pid } }: Crewmate, server: LibsqlServer): Promise<number> {
  return eventually('a daemon inside a write', async () => {
    const stoppedAt = performance.now()
    process.kill(pid, 'SIGSTOP')
    if (await isHeldUp(server)) return stoppedAt
    process.kill(pid, 'SIGCONT')
  })
}

/** Whether an unfinished write blocks other writes for longer than any commit takes. */
async function isHeldUp({ url }: LibsqlServer): Promise<boolean> {
  const client = createDatabaseClient({ url })
  const write = client
    .batch(['DELETE FROM tickets WHERE id = 0'], 'write')
    .then(() => false)
    .finally(() => client.close())
  return Promise.race([write, delay(heldUpMs, true)])
}

/** Follows a project's events through a daemon, and continues at its last event after each disconnection. */
export async function keepFollowing(
  mate: Crewmate,
  projectId: string,
  since: number,
  signal: AbortSignal,
  onEvent: (mate: Crewmate, message: { seq: number; data: { title?: string } }) => void = () => {},
): Promise<void> {
  for (let last = since; !signal.aborted; await delay(50)) {
    const live = await openSocket(mate.board.url, mate.board.token).catch(() => undefined)
    if (!live) continue
    live.send({ type: 'subscribe', payload: { projectId, since: last } })
    for (let isOver = false; !isOver; await delay(5)) {
      isOver = live.closed !== undefined || signal.aborted
      for (const message of live.messages.splice(0)) {
        if (message.seq === undefined || message.projectId !== projectId || message.type === 'notification') continue
        mate.seqs.push((last = message.seq))
        onEvent(mate, message)
      }
    }
    live.close()
  }
}
