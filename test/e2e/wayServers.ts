import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { secretKey } from '../daemons/sharing.ts'
import { configure } from '../support/agents/agentBoard.ts'
import { boardProcess, type BoardProcess } from '../support/processes/boardProcess.ts'
import { processesWith } from '../support/processes/processFiles.ts'
import { startLibsqlServer } from '../support/servers/libsqlServer.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { bundled } from './bundled.ts'
import type { Dice } from './dice.ts'
import type { Servers } from './issueWay.ts'

/** Configures an agent that remembers its messages, regardless of the server that started it. */
function agentsIn(root: string) {
  const memory = join(root, 'memory')
  mkdirSync(memory)
  return { requested: { fixture: 'requested', env: { REQUESTED_MEMORY: memory }, state: [memory] } }
}
const endAll = (mark: string): void => {
  for (const pid of processesWith(mark)) process.kill(pid, 'SIGKILL')
}

/** One server with its own database file. */
export async function oneServer(root: string): Promise<Servers> {
  const mark = randomUUID()
  configure(join(root, 'data'), agentsIn(root), mark)
  const board = boardProcess(join(root, 'data'), { HOME: root }, [], await bundled('test/e2e/hastyServer.ts', root))
  return {
    get client() {
      return board.client
    },
    worktrees: join(root, 'data/worktrees'),
    start: () => board.start(),
    kill: async () => {
      await board.end('SIGKILL')
      await board.start()
    },
    stop: async () => ({ codes: [(await board.end('SIGTERM')).code], said: board.stderr }),
    clearAway: async () => {
      if (board.isRunning()) await board.end('SIGKILL')
      endAll(mark)
    },
  }
}

/** The daemon that continues after the working one was killed. The last value pauses the working one instead, and wakes it after the other has taken over. */
export const takeovers = [
  'the other',
  'the quicker one',
  'the restarted one',
  'the paused one after the other',
] as const
export type Takeover = (typeof takeovers)[number]

/** Two daemons of one machine on one libSQL server, which get requests in turn. */
export async function twoDaemons(root: string, dice: Dice, next: () => Takeover): Promise<Servers> {
  const mark = randomUUID()
  const database = await startLibsqlServer()
  const worktrees = join(root, 'worktrees')
  const program = await bundled('test/e2e/hastyServer.ts', root)
  const agents = agentsIn(root)
  const both = ['one', 'two'].map(name => {
    configure(join(root, name), agents, mark)
    const args = ['--database', database.url, '--machine', 'here', '--worktree-root', worktrees]
    return boardProcess(join(root, name), { HOME: root, BOARD_SECRET_KEY: secretKey }, args, program)
  }) as [BoardProcess, BoardProcess]
  const running = () => both.filter(each => each.isRunning())
  const findLeaseHolder = async (asked = running()[0]!) => {
    const daemons = await asked.client.server.daemons().catch(() => [])
    const worker = daemons.find(({ isThere, duties }) => isThere && duties.includes('machine'))
    return running().find(({ url }) => url === worker?.url)
  }
  const untilOneWorks = () => eventually('a daemon that works', () => findLeaseHolder())
  return {
    get client() {
      return dice.pick(running()).client
    },
    worktrees,
    start: async () => {
      await Promise.all(both.map(each => each.start()))
      await untilOneWorks()
    },
    kill: async () => {
      const takeover = next()
      const worker = await untilOneWorks()
      const other = both.find(each => each !== worker)!
      if (takeover === 'the restarted one') {
        if (other.isRunning()) await other.end('SIGKILL')
      } else if (!other.isRunning()) await other.start()
      if (takeover === 'the paused one after the other') {
        process.kill(worker.pid, 'SIGSTOP')
        await eventually('the other at work', async () => (await findLeaseHolder(other)) === other)
        process.kill(worker.pid, 'SIGCONT')
        return
      }
      await worker.end('SIGKILL')
      if (takeover !== 'the other') await worker.start()
      await untilOneWorks()
    },
    stop: async () => {
      const codes = []
      for (const each of running()) codes.push((await each.end('SIGTERM')).code)
      return { codes, said: both.map(({ stderr }) => stderr).join('') }
    },
    clearAway: async () => {
      await Promise.all(running().map(each => each.end('SIGKILL')))
      endAll(mark)
      await database.close()
    },
  }
}
