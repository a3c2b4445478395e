import { readdirSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readPriceList } from '../../src/agents/pricing/priceList.ts'
import { listModelHosts } from '../../src/agents/providers/modelHosts.ts'
import { prepareSession, sessionSteps } from '../../src/agents/sessions/prepare/prepareSession.ts'
import type { Step, WithCommands } from '../../src/agents/sessions/prepare/sessionContext.ts'
import { RunStopped } from '../../src/agents/sessions/sessionEndings.ts'
import { SessionRecord } from '../../src/agents/sessions/sessionRecord.ts'
import { serverDefaults } from '../../src/config/server.ts'
import { Problem } from '../../src/contract/errors.ts'
import { createGuardedConnect } from '../../src/egress/guardedConnect.ts'
import { readSession } from '../../src/store/agents/sessions.ts'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { newSession } from '../support/agents/agentRows.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { testSandbox } from '../support/servers/testBoard.ts'

type AnyStep = Step<WithCommands, WithCommands>

const names = sessionSteps.map(({ run }) => run.name)
const before = (name: string) => names.slice(0, names.indexOf(name)).toReversed()

describe('the preparation of a session', () => {
  let board: AgentBoard
  let sessionId: number
  beforeAll(async () => {
    const sandbox = hasBubblewrap ? 'require' : testSandbox
    board = await startAgentBoard({ good: { fixture: 'well-behaved' } }, { sandbox })
    const { id: cardId } = await board.start('good', { deferred: true })
    const card = { projectId: board.projectId, cardId }
    sessionId = (await newSession(board, card, { agent: 'good' })).id
  })
  afterAll(() => board.close())

  /** Prepares the session through the real steps, of which `change` replaces some, and records those that were undone. */
  async function prepare(change: (step: AnyStep, stop: () => void) => AnyStep) {
    const { app } = board.server
    const stopped = new AbortController()
    const dependencies = {
      ...app,
      agents: app.supervisor,
      processTrees: app.remoteReach.processTrees,
      connect: createGuardedConnect(serverDefaults.lookup),
      acceptForBoard: () => {},
      url: board.url,
      log: app.logs.log,
      prices: await readPriceList(undefined),
    }
    const start = {
      dependencies,
      record: new SessionRecord(dependencies, sessionId, stopped.signal),
      session: (await readSession(app.db, sessionId))!,
      onAsked: () => {},
    }
    const undone: string[] = []
    const steps = (sessionSteps as readonly AnyStep[]).map(step => ({
      run: change(step, () => stopped.abort()).run,
      undo: async (context: WithCommands) => {
        undone.push(step.run.name)
        await step.undo?.(context)
      },
    }))
    const prepared = await prepareSession(start, steps).catch((error: unknown) => error)
    return { prepared: prepared as Awaited<ReturnType<typeof prepareSession>>, failure: prepared, undone }
  }

  /** The folders for prompt files, and the open folders that a sandbox mounts. */
  const leftovers = () => ({
    promptFolders: readdirSync(board.dataDir, { recursive: true }).filter(path =>
      /board-attachments-\w+$/.test(`${path}`),
    ),
    openFolders: readdirSync('/proc/self/fd').filter(each => {
      try {
        return readlinkSync(`/proc/self/fd/${each}`).startsWith(join(board.path, '.git/'))
      } catch {
        return false
      }
    }),
  })
  const none = { promptFolders: [], openFolders: [] }

  test('opens what the session needs, and closes it in reverse order', async () => {
    const { prepared, undone } = await prepare(step => step)
    expect(prepared.launch.cwd).toBe(prepared.workplace.place.cwd)
    expect(prepared.sandbox.kind).toBe(hasBubblewrap ? 'bwrap' : 'none')
    expect(leftovers().promptFolders).toHaveLength(1)
    if (hasBubblewrap) expect(leftovers().openFolders).not.toHaveLength(0)
    await prepared.close()
    expect(undone).toEqual(names.toReversed())
    expect(leftovers()).toEqual(none)
  })

  test.each(names)('undoes the steps before %s in reverse order if it fails', async name => {
    const refusal = new Problem('CONFLICT', 'The step is refused.')
    const fail = async () => {
      throw refusal
    }
    const { failure, undone } = await prepare(step => (step.run.name === name ? { run: fail } : step))
    expect(failure).toMatchObject({ reason: 'launch_failed', message: 'The step is refused.', cause: refusal })
    expect(undone).toEqual(before(name))
    expect(leftovers()).toEqual(none)
  })

  test.each(names)('undoes %s and the steps before it if the session is stopped', async name => {
    const { failure, undone } = await prepare((step, stop) => ({
      run: async context => {
        const added = await step.run(context)
        if (step.run.name === name) stop()
        return added
      },
    }))
    expect(failure).toBeInstanceOf(RunStopped)
    expect(undone).toEqual([name, ...before(name)])
    expect(leftovers()).toEqual(none)
  })

  test.skipIf(!hasBubblewrap)('leaves nothing of a start that fails in the sandbox', async () => {
    const link = join(homedir(), `.board-test-${process.pid}`)
    symlinkSync(board.dataDir, link)
    try {
      // Not by a request: on a shared database, `newSession` has moved the project to another machine.
      const setCaches = (caches: string[]) =>
        board.server.app.db.transaction(tx =>
          tx.run(`UPDATE projects SET sandbox = json_set(sandbox, '$.caches', json(?)) WHERE id = ?`, [
            JSON.stringify(caches),
            Number(board.projectId),
          ]),
        )
      await setCaches([`~/${basename(link)}`])
      const { failure, undone } = await prepare(step => step)
      expect(failure).toMatchObject({ reason: 'launch_failed', message: expect.stringContaining('symbolic link') })
      expect(undone).toEqual(before('openSandbox'))
      expect(leftovers()).toEqual(none)
      await setCaches([])
    } finally {
      unlinkSync(link)
    }
  })

  test('undoes the other steps if the undo of one fails', async () => {
    const { prepared, undone } = await prepare(step => step)
    const close = prepared.sandbox.close
    prepared.sandbox.close = async () => {
      await close()
      throw new Error('The folders could not be closed.')
    }
    await prepared.close()
    expect(undone).toEqual(names.toReversed())
    expect(leftovers()).toEqual(none)
  })
})

describe('the hosts of a model', () => {
  const env = { ANTHROPIC_BASE_URL: 'http://10.0.0.7:8080/v1', GH_HOST: 'git.example', OTHER: 'https://other.example' }
  const agent = { modelHosts: ['api.anthropic.com', 'claude.ai'] }
  const api = ['api.anthropic.com']
  test.each([
    ["are the agent's with the account's sign-in", null, {}, false, agent.modelHosts, []],
    ["are the provider's with a credential", 'anthropic', {}, false, api, []],
    ['contain the host of a base URL', 'anthropic', env, false, [...api, '10.0.0.7:8080'], []],
    ['have a base URL as an endpoint if it can be private', 'custom', env, true, [], [env.ANTHROPIC_BASE_URL]],
    ['contain no base URL that is not valid', 'custom', { X_ENDPOINT: 'http://' }, false, [], []],
  ] as const)('%s', (_, credential, variables, canBePrivate, hosts, endpoints) => {
    expect(listModelHosts(agent, credential, variables, canBePrivate)).toEqual({ hosts, endpoints })
  })
})
