import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../../src/app.ts'
import { openLogs } from '../../src/logs/logs.ts'
import { serverDefaults } from '../../src/config/server.ts'
import type { Caller } from '../../src/domain/accounts/caller.ts'
import * as projects from '../../src/domain/projects/projects.ts'
import { insertCard } from '../../src/store/cards/cards.ts'
import { listColumns } from '../../src/store/boards/columns.ts'
import { readDefaultBoard } from '../../src/store/boards/boards.ts'
import * as columns from '../../src/domain/boards/columns.ts'
import * as order from '../../src/store/cards/order.ts'
import { localOperator } from '../../src/store/accounts/users.ts'
import { boardProcess, type BoardProcess } from '../support/processes/boardProcess.ts'
import { hideAgents } from '../support/servers/testBoard.ts'
import { boardIn, type TestTerminal } from '../support/terminals/terminal.ts'
import { statOf } from '../support/processes/processFiles.ts'

export interface Load {
  seconds: number
  updatesPerSec: number
  keysPerSec: number
  width: number
  height: number
}
export interface Figures {
  frames: number
  framesPerSec: number
  bytesPerFrame: number
  cpuPercent: number
  brokenFrames: number
  bytesOutsideOfFrames: number
  updates: number
  memoryMiB: number
}

/** A server in a separate process with a project of four columns that share the cards. */
export interface LoadedBoard {
  server: BoardProcess
  projectId: string
  columnIds: string[]
  close(): Promise<void>
}

const operator: Caller = {
  kind: 'local',
  userId: localOperator,
  role: 'super_admin',
  email: '',
  displayName: 'Local operator',
  tokenHash: '',
}
const clockTicksPerSec = 100

export async function startLoaded(cards: number): Promise<LoadedBoard> {
  const root = mkdtempSync(join(tmpdir(), 'board-load-'))
  const dataDir = join(root, 'data')
  hideAgents(dataDir)
  const config = { ...serverDefaults, dataDir }
  const logs = openLogs(config, () => {
    /* The output is not read. */
  })
  const app = await createApp(config, logs)
  const seeded = await app.db.transaction(async tx => {
    const { id: projectId } = await projects.create(tx, operator, {
      name: 'web',
      path: root,
      organizationId: null,
      folders: {},
    })
    const { id: boardId } = (await readDefaultBoard(tx, projectId))!
    await columns.create(tx, app.supervisor, operator, projectId, {
      boardId,
      name: 'Later',
      columnType: 'backlog',
      prompt: '',
      wipLimit: null,
      pull: false,
    })
    const ids = (await listColumns(tx, boardId)).map(({ id }) => id)
    for (let number = 0; number < cards; number++) {
      const columnId = ids[number % ids.length]!
      const card = {
        projectId,
        boardId,
        columnId,
        title: `Card ${number}: fix what the customer saw`,
        prompt: '',
        labels: '["load"]',
        pipeline: '[]',
        groupId: null,
        archivedAt: null,
        lastAgentAction: null,
        deferred: true,
        autoMode: false,
        useWorktree: true,
        unread: false,
      }
      await order.insertCard(tx, columnId, await insertCard(tx, card))
    }
    return { projectId: String(projectId), columnIds: ids.map(String) }
  })
  await app.close()
  await logs.close()
  const server = boardProcess(dataDir, { HOME: root })
  await server.start()
  return {
    server,
    ...seeded,
    close: async () => {
      await server.end('SIGTERM')
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** Makes the terminal board show live updates and pressed keys for some seconds, and measures its frames and its processor time. */
export async function measure({ server, projectId, columnIds }: LoadedBoard, load: Load): Promise<Figures> {
  let broken = 0
  const terminal = boardIn(['ui', '-P', 'web'], {
    width: load.width,
    height: load.height,
    env: { PATH: process.env.PATH ?? '', HOME: tmpdir(), BOARD_URL: server.url, BOARD_TOKEN: server.token },
    onFrame: lines => {
      if (!isWhole(lines, columnIds.length)) broken++
    },
  })
  try {
    await terminal.shows('live')
    await terminal.lacks(/\d\+ ─/, 60_000)
    const ids = (
      await Promise.all(
        columnIds.map(columnId => server.client.cards.list({ projectId, columnId, offset: 0, limit: 20 })),
      )
    )
      .flat()
      .map(({ id }) => id)
    const before = {
      cpu: cpuOf(terminal.process.pid),
      frames: terminal.frameCount,
      written: terminal.written.length,
      atMs: performance.now(),
    }
    let updates = 0
    const working: Promise<unknown>[] = []
    const updating = setInterval(() => {
      const cardId = ids[updates % ids.length]!
      updates++
      working.push(
        updates % 4 === 0
          ? server.client.cards.move({
              projectId,
              cardId,
              columnId: columnIds[updates % columnIds.length]!,
              position: updates % 10,
            })
          : server.client.cards.update({
              projectId,
              cardId,
              title: `Card ${cardId}: changed for the ${updates}th time`,
            }),
      )
    }, 1000 / load.updatesPerSec)
    const pressing =
      load.keysPerSec > 0
        ? setInterval(
            () => terminal.press(Math.floor(performance.now() / 2000) % 2 === 0 ? 'j' : 'k'),
            1000 / load.keysPerSec,
          )
        : undefined
    await new Promise(resolve => setTimeout(resolve, load.seconds * 1000))
    clearInterval(updating)
    clearInterval(pressing)
    await Promise.all(working)
    const secs = (performance.now() - before.atMs) / 1000
    const frames = terminal.frameCount - before.frames
    return {
      frames,
      framesPerSec: frames / secs,
      bytesPerFrame: (terminal.written.length - before.written) / Math.max(1, frames),
      cpuPercent: ((cpuOf(terminal.process.pid) - before.cpu) / secs) * 100,
      brokenFrames: broken,
      bytesOutsideOfFrames: outsideOfFrames(terminal),
      updates,
      memoryMiB: memoryOf(terminal.process.pid),
    }
  } finally {
    terminal.close()
  }
}

/** The time from the start of the process to its first frame. */
export async function firstFrameMs({ server }: LoadedBoard): Promise<number> {
  const startedAtMs = performance.now()
  const terminal = boardIn(['ui', '-P', 'web'], {
    env: { PATH: process.env.PATH ?? '', HOME: tmpdir(), BOARD_URL: server.url, BOARD_TOKEN: server.token },
  })
  await new Promise<void>(done => {
    const listening = terminal.process.onData(() => {
      if (terminal.written.includes('\u001b[?2026l')) {
        listening.dispose()
        done()
      }
    })
  })
  const tookMs = performance.now() - startedAtMs
  terminal.close()
  return tookMs
}

/** Expects every column to have its header, its footer and both sides. */
function isWhole(lines: readonly string[], columns: number): boolean {
  const count = (line: string, sign: string) => line.split(sign).length - 1
  const body = lines.slice(2, -2)
  return (
    lines[0]!.startsWith(' web') &&
    count(lines[1]!, '╭') === columns &&
    count(lines.at(-2)!, '╰') === columns &&
    body.every(line => line.split(/[│┃]/).length - 1 === 2 * columns) &&
    lines.at(-1)!.includes('help')
  )
}

const outsideOfFrames = ({ written }: TestTerminal): number =>
  written.replace(/\u001b\[\?2026h.*?\u001b\[\?2026l/gs, '').replace(/^(\u001b\[\?\d+[hl])+/, '').length

/** Seconds of processor time that a process has used. */
function cpuOf(pid: number): number {
  const fields = statOf(pid)
  return (Number(fields[11]) + Number(fields[12])) / clockTicksPerSec
}

const memoryOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
