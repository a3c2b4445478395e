import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { AcpTimeouts } from '../../../src/agents/acp/acpAgent.ts'
import { openAgent } from '../../../src/agents/sessions/open/openAgent.ts'
import {
  AgentFailure,
  type AgentLaunch,
  type AgentLink,
  type PermissionRequest,
  type RawUpdate,
} from '../../../src/agents/link/agentLink.ts'
import { createProcessTrees, type Child } from '../../../src/process/spawn.ts'
import { openDatabase } from '../../../src/store/engine/open.ts'
import { migrate } from '../../../src/store/engine/migrate.ts'

/** The updates and requests of one agent, in order. */
export interface Heard {
  updates: RawUpdate[]
  permissions: PermissionRequest[]
  withdrawn: string[]
  /** The concatenated messages. */ text(): string
}

/** A place where agents run for a test file: a folder, a database of process runs, and all started processes, which `close` ends. */
export interface AgentRoom {
  cwd: string
  children: Child[]
  heard: Heard
  /** Opens a fixture agent, or the program of `launch`. */
  open(
    name: string,
    env?: Record<string, string>,
    launch?: Partial<AgentLaunch>,
    limits?: AcpTimeouts,
  ): Promise<AgentLink>
  /** Delays each update. */
  keeping: (update: RawUpdate) => void | Promise<void>
  close(): Promise<void>
}

export const fixture = (name: string): string => resolve(import.meta.dirname, '../../fixtures/agents', `${name}.mjs`)

export async function createRoom(): Promise<AgentRoom> {
  const root = mkdtempSync(join(tmpdir(), 'board-agents-'))
  const db = openDatabase({ path: join(root, 'board.db'), clock: () => new Date() })
  await migrate(db)
  const trees = createProcessTrees(db)
  const room: AgentRoom = {
    cwd: mkdtempSync(join(root, 'work-')),
    children: [],
    heard: hear(),
    keeping: () => {},
    open(name, env = {}, launch = {}, limits) {
      const heard = (room.heard = hear())
      const spawn = async ({
        argv,
        ...rest
      }: {
        argv: readonly string[]
        cwd: string
        env: Readonly<Record<string, string>>
      }) => {
        const child = await trees.spawn({ command: argv, ...rest, stdin: 'pipe', kind: 'agent' })
        room.children.push(child)
        return child
      }
      const listener = {
        update: (update: RawUpdate) => {
          heard.updates.push(update)
          return room.keeping(update)
        },
        permission: (request: PermissionRequest) => {
          heard.permissions.push(request)
        },
        withdrawn: heard.withdrawn,
        permissionWithdrawn: (id: string) => {
          heard.withdrawn.push(id)
        },
      }
      const all = { PATH: process.env.PATH!, HOME: root, ...env }
      return openAgent(
        {
          protocol: 'acp',
          argv: [process.execPath, fixture(name)],
          cwd: room.cwd,
          env: all,
          secrets: [],
          authMethods: [],
          usageIsCumulative: false,
          tools: null,
          ...launch,
        },
        listener,
        spawn,
        limits,
      )
    },
    async close() {
      await Promise.all(room.children.map(child => child.stop({ graceMs: 0, termMs: 100 })))
      await db.close()
      rmSync(root, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  return room
}

function hear(): Heard {
  const updates: RawUpdate[] = []
  const text = () =>
    updates
      .filter(({ sessionUpdate }) => sessionUpdate === 'agent_message_chunk')
      .map(({ content }) => (content as { text: string }).text)
      .join('')
  return { updates, permissions: [], withdrawn: [], text }
}

/** The error with which a promise rejects. */
export async function failure(promise: Promise<unknown>): Promise<AgentFailure> {
  const error = await promise.then(
    () => new Error('It did not fail.'),
    (reason: unknown) => reason,
  )
  if (!(error instanceof AgentFailure)) throw error
  return error
}
