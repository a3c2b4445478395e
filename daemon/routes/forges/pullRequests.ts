import { createKeyedQueue } from '../../../src/async/serialQueue.ts'
import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { actorOf } from '../../../src/domain/cards/activity.ts'
import * as cards from '../../../src/domain/cards/cards.ts'
import * as projects from '../../../src/domain/projects/projects.ts'
import * as pulls from '../../../src/domain/forges/pullRequests.ts'
import { folderIn, projectIn, workIn } from '../../../src/cardWork/repositoryWork.ts'
import { proving } from '../../../src/cardWork/provedTrees.ts'
import { gitCredentialOf } from '../../../src/forge/forgeAccess.ts'
import { asProblem, openForge } from '../../../src/forge/openForge.ts'
import {
  changePullRequest,
  closePullRequest,
  mergeLater,
  mergePullRequest,
  requireOpen,
  type Changed,
} from '../../../src/pullRequests/changePullRequest.ts'
import { createPullRequest } from '../../../src/pullRequests/createPullRequest.ts'
import { draftOrPresent, withCard } from '../../../src/pullRequests/draftPullRequest.ts'
import { resumeLoop } from '../../../src/pullRequests/stopLoop.ts'
import type { RefreshDependencies } from '../../../src/pullRequests/refreshPullRequest.ts'
import type { Database, Reader } from '../../../src/store/engine/database.ts'
import type { ProjectRow } from '../../../src/store/projects/projects.ts'
import type { PullRequestRow } from '../../../src/store/forges/pullRequests.ts'
import { listedPullRequest, pullRequest } from '../../../src/views/pullRequests.ts'
import type { Handlers } from '../../http/handlers.ts'
import { pushTimeoutMs } from './branches.ts'

type Ref = cards.CardRef & { repository: string }

export function pullRequestsRoutes(
  app: Pick<App, 'config' | 'db' | 'deviceGrants' | 'outboundDispatcher' | 'remoteReach' | 'worktrees'>,
): Handlers<Contract['pullRequests']> {
  const { db: reader, config } = app
  const inTurn = createKeyedQueue()
  const open = (project: ProjectRow, repository: string) => openForge(app, projectIn(project, repository))
  const dependenciesOn = (db: Database): RefreshDependencies => ({ db, clock: config.clock, openForge: open })
  const find = async ({ repository, ...ref }: Ref) => {
    const [card, project] = [await cards.find(reader, ref), await projects.find(reader, ref.projectId)]
    return { card, project, work: await workIn(reader, card, project, repository) }
  }
  const findOpen = async (ref: Ref) => {
    const { card, project } = await find(ref)
    return { card, project, row: requireOpen(await pulls.find(reader, card.id, ref.repository)) }
  }
  return {
    get: async ref => pullRequest(await findSeen(reader, ref)),
    list: async ({ projectId, ...filter }) => (await pulls.list(reader, projectId, filter)).map(listedPullRequest),
    draft: ref =>
      translateFailure(async () => {
        const { work, project } = await find(ref)
        const opened = { ...work, open: await open(project, ref.repository) }
        return draftOrPresent({ db: reader, publicUrl: config.publicUrl }, opened)
      }),
    create: async ({ projectId, cardId, repository, ...wanted }, { db, caller }) =>
      translateFailure(async () => {
        const { project, work: found } = await find({ projectId, cardId, repository })
        const work = { ...found, open: await open(project, repository) }
        const reach = { ...app.remoteReach, timeoutMs: pushTimeoutMs, credential: await gitCredentialOf(app, project) }
        const create = { ...dependenciesOn(db), worktrees: app.worktrees, publicUrl: config.publicUrl, reach, inTurn }
        return changedView(await createPullRequest(create, work, wanted, caller))
      }),
    update: async ({ projectId, cardId, repository, autoMerge, mergeMethod, ...change }, { db, caller }) =>
      translateFailure(async () => {
        const { card, project, row } = await findOpen({ projectId, cardId, repository })
        if (change.body !== undefined) change.body = withCard(config, card, change.body)
        const isTold = Object.values(change).some(value => value !== undefined)
        const forge = isTold ? (await open(project, repository)).forge : undefined
        const own = { autoMerge, mergeMethod }
        return changedView(await changePullRequest(dependenciesOn(db), forge, row, change, own, actorOf(caller)))
      }),
    merge: async ({ projectId, cardId, repository, auto, ...how }, { db, caller }) =>
      translateFailure(async () => {
        const { card, project, row } = await findOpen({ projectId, cardId, repository })
        const { forge } = await open(project, repository)
        const requireProved = proving({ ...app, db }, card, project, { ...how, caller, repository })
        const merged = auto
          ? await mergeLater(dependenciesOn(db), forge, row, how.method ?? row.mergeMethod, actorOf(caller))
          : await mergePullRequest(dependenciesOn(db), forge, row, how, actorOf(caller), requireProved)
        return pullRequest(merged)
      }),
    continue: continueLoop,
    close: async (ref, { db, caller }) =>
      translateFailure(async () => {
        const { project, row } = await findOpen(ref)
        const { forge } = await open(project, ref.repository)
        await closePullRequest(dependenciesOn(db), forge, row, actorOf(caller))
      }),
  }
}

/** @throws Problem VALIDATION_FAILED for a repository that the project does not have, PULL_REQUEST_NOT_FOUND */
async function findSeen(db: Reader, { repository, ...ref }: Ref): Promise<PullRequestRow> {
  const { id } = await cards.find(db, ref)
  return pulls.find(db, id, repository).catch(async (error: unknown) => {
    folderIn(await projects.find(db, ref.projectId), repository)
    throw error
  })
}

const changedView = ({ row, notTaken }: Changed) => Object.assign(pullRequest(row), { notTaken: [...notTaken] })

/** Converts a forge's failure to an error for the caller. */
async function translateFailure<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw asProblem(error)
  }
}

const continueLoop: Handlers<Contract['pullRequests']>['continue'] = (ref, call) =>
  call.write(
    async tx => resumeLoop(tx, await findSeen(tx, ref), call.caller),
    row => pullRequest(row),
  )
