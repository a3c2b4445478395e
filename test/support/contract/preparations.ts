import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { add } from '../../../src/domain/forges/pullRequests.ts'
import { end } from '../../../src/domain/agents/sessions.ts'
import { updateLanding } from '../../../src/store/forges/landings.ts'
import type { TestBoard } from '../servers/testBoard.ts'
import { eventually } from '../waiting/eventually.ts'
import { paramsOf } from '../../../src/contract/paths.ts'
import type { Row } from './examples.ts'
import { invitedElsewhere, monitored, seed, type Seed } from './seed.ts'

const attachWorktree = (on: TestBoard, { projectId, cardId, worktree }: Seed) =>
  on.client.cards.attachWorktree({ projectId, cardId, path: worktree })

const pushable = async (on: TestBoard, fresh: Seed) => {
  await attachWorktree(on, fresh)
  const remote = on.folder(`remote-${fresh.cardId}.git`)
  execFileSync('git', ['init', '-q', '--bare', remote])
  execFileSync('git', ['-C', fresh.worktree, 'config', 'remote.origin.url', `file://${remote}`])
}

const servable = async (on: TestBoard, fresh: Seed, preview: string) => {
  await attachWorktree(on, fresh)
  await on.client.projects.update({ id: fresh.projectId, worktree: { preview } })
}

const relaunch = (on: TestBoard, { projectId, cardId }: Seed) => on.client.agents.relaunch({ projectId, cardId })

const makeBackup = async (on: TestBoard, fresh: Seed) => {
  fresh.backup = (await on.client.backups.create()).filename
}

/** Records a pull request that does not exist on any forge. */
const requested = async (on: TestBoard, fresh: Seed) => {
  await pushable(on, fresh)
  await on.server.app.db.transaction(tx =>
    add(tx, {
      cardId: Number(fresh.cardId),
      number: 12,
      url: 'https://forge.example.org/acme/roof/pulls/12',
      title: 'Roof',
      state: 'open',
      draft: false,
      base: 'main',
      branch: 'card/1',
      autoMerge: false,
      mergeMethod: 'merge',
    }),
  )
}

/** Prepares a fresh seed so that the example of a row succeeds. */
export const preparations: Record<string, (on: TestBoard, fresh: Seed) => Promise<unknown>> = {
  'cards.detachWorktree': attachWorktree,
  'agents.merge': async (on, fresh) => {
    await attachWorktree(on, fresh)
    writeFileSync(join(fresh.worktree, `work-${fresh.cardId}`), 'Work.\n')
  },
  'landings.add': attachWorktree,
  'landings.cancel': async (on, { projectId, landingId }) => {
    await on.client.landings.pause({ projectId })
    await on.server.app.db.transaction(async tx => updateLanding(tx, Number(landingId), { status: 'waiting' }))
  },
  'branches.checkMerge': attachWorktree,
  'branches.push': pushable,
  'branches.update': attachWorktree,
  'pullRequests.draft': pushable,
  'pullRequests.create': pushable,
  'pullRequests.get': requested,
  'pullRequests.list': requested,
  'pullRequests.update': requested,
  'pullRequests.merge': requested,
  'pullRequests.close': requested,
  'pullRequests.continue': requested,
  'previews.start': (on, fresh) => servable(on, fresh, 'true'),
  'previews.createTicket': async (on, fresh) => {
    await servable(on, fresh, 'exec node -e "http.createServer().listen(process.env.BOARD_PORT)"')
    await on.client.previews.start(fresh)
    await eventually('the preview', async () => (await on.client.previews.get(fresh)).status === 'running')
  },
  'previews.stop': async (on, fresh) => {
    await servable(on, fresh, 'sleep 60')
    await on.client.previews.start(fresh)
  },
  'invitations.lookup': async (on, fresh) => {
    fresh.invitationToken = await invitedElsewhere(on)
  },
  'invitations.accept': async (on, fresh) => {
    fresh.invitationToken = await invitedElsewhere(on)
  },
  'auth.endSession': async (on, fresh) => {
    await on.as().auth.login({ email: 'ada@example.org', password: 'correct horse' })
    fresh.signInId = (await on.as(fresh.token).auth.sessions())[0]!.id
  },
  'backups.download': makeBackup,
  'backups.delete': makeBackup,
  'backups.restore': makeBackup,
  'agents.cancel': relaunch,
  'external.cancelAgent': relaunch,
  'agents.token': (on, { projectId, cardId, activeColumnId }) =>
    on.client.cards.move({ projectId, cardId, columnId: activeColumnId }),
  'monitors.delete': async (on, fresh) => {
    fresh.monitorId = await monitored(on, { projectId: fresh.projectId, cardId: fresh.activeCardId }, 'pending')
  },
  'scripts.cancel': (on, fresh) => on.client.scripts.run(fresh),
  'scripts.delete': (on, fresh) => on.client.scripts.run(fresh),
  'agents.approveAuto': async (on, { projectId, cardId, activeColumnId }) => {
    await on.client.cards.move({ projectId, cardId, columnId: activeColumnId })
    const { sessionId } = await on.client.agents.get({ projectId, cardId })
    await on.server.app.db.transaction(tx =>
      end(tx, on.server.app.supervisor, Number(sessionId), { status: 'completed' }),
    )
  },
}

/** The seeds of a board's routes: a shared one for requests that change nothing, and a new, prepared one for each other request. */
export function seedsOf(board: TestBoard) {
  let shared: Promise<Seed> | undefined
  const getShared = (): Promise<Seed> => (shared ??= seed(board))
  return {
    shared: getShared,
    for: async ({ name, route }: Row): Promise<Seed> => {
      const isShared = route.method === 'GET' || paramsOf(route.path).length === 0
      const fresh = isShared ? { ...(await getShared()) } : await seed(board)
      await preparations[name]?.(board, fresh)
      return fresh
    },
  }
}
