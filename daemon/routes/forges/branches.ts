import { resolveConflicts } from '../../../src/agents/sessions/resolveConflicts.ts'
import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { actorOf, recordActivity } from '../../../src/domain/cards/activity.ts'
import * as branches from '../../../src/cardWork/branches.ts'
import type { Caller } from '../../../src/domain/accounts/caller.ts'
import * as cards from '../../../src/domain/cards/cards.ts'
import * as projects from '../../../src/domain/projects/projects.ts'
import { checkMerge } from '../../../src/cardWork/mergeRepositories.ts'
import { branchWords, list, withResolution, workIn } from '../../../src/cardWork/repositoryWork.ts'
import type { Handlers } from '../../http/handlers.ts'
import { gitCredentialOf } from '../../../src/forge/forgeAccess.ts'
import { startingWrite } from '../cards/startingWrite.ts'

/** The maximum time for a push. */
export const pushTimeoutMs = 5 * 60_000

export function branchesRoutes(
  app: Pick<App, 'db' | 'deviceGrants' | 'remoteReach' | 'supervisor' | 'worktrees'>,
): Handlers<Contract['branches']> {
  const { db, remoteReach } = app
  const record = (card: { id: number }, caller: Caller, action: 'branch.pushed' | 'branch.updated', to: string) =>
    db.transaction(
      async tx => recordActivity(tx, card.id, action, [{ field: 'branch', from: null, to }]),
      actorOf(caller),
    )
  const find = async (ref: cards.CardRef, repository: string) =>
    workIn(db, await cards.find(db, ref), await projects.find(db, ref.projectId), repository)
  return {
    repositories: async ref =>
      list(app.worktrees, db, await cards.find(db, ref), await projects.find(db, ref.projectId)),
    checkMerge: async ({ into, repository, ...ref }) => {
      const [card, project] = [await cards.find(db, ref), await projects.find(db, ref.projectId)]
      return checkMerge(app.worktrees, db, card, project, { into, repository })
    },
    push: async ({ force, repository, ...ref }, { caller }) => {
      const { card, project } = await find(ref, repository)
      const credential = await gitCredentialOf(app, project)
      const reach = { ...remoteReach, timeoutMs: pushTimeoutMs, credential }
      const pushed = await branches.push(app.worktrees, card, project, { force }, reach)
      const name = branchWords(repository, `${pushed.remote}/${pushed.branch}`)
      if (pushed.pushed) await record(card, caller, 'branch.pushed', name)
      return pushed
    },
    update: async ({ strategy, resolve, repository, ...ref }, call) => {
      const { card, project } = await find(ref, repository)
      const reach = { ...remoteReach, credential: await gitCredentialOf(app, project) }
      const result = await branches.update(app.worktrees, db, card, project, strategy, reach, repository)
      if ('problem' in result) {
        if (!resolve) throw withResolution(result.problem, card.id, repository)
        return startingWrite(
          app,
          call,
          tx => resolveConflicts(tx, app.supervisor, { ...ref, caller: call.caller }, result, strategy),
          () => ({
            branch: card.gitBranch,
            commit: null,
            baseCommit: result.baseCommit,
            updated: false,
            remark: null,
            resolving: true,
          }),
        )
      }
      if (result.updated) await record(card, call.caller, 'branch.updated', branchWords(repository, result.branch))
      return { ...result, resolving: false }
    },
  }
}
