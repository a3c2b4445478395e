import type { App } from '../../src/app.ts'
import { approveStep } from '../../src/agents/sessions/advancePipeline.ts'
import { approvePlan } from '../../src/agents/sessions/approvePlan.ts'
import * as sessionCommands from '../../src/agents/sessions/sessionCommands.ts'
import type { Contract } from '../../src/contract/index.ts'
import { actorOf, recordActivity } from '../../src/domain/activity.ts'
import * as cards from '../../src/domain/cards.ts'
import { mergeRepositories } from '../../src/domain/mergeRepositories.ts'
import * as projects from '../../src/domain/projects.ts'
import { branchWords } from '../../src/domain/repositoryWork.ts'
import { goOnAfterMessage } from '../../src/pullRequests/stopping.ts'
import type { Call, Handlers } from '../http/handlers.ts'
import { startingWrite } from './startingWrite.ts'

type Writes = 'cancel' | 'send' | 'retry' | 'relaunch' | 'relay' | 'approvePlan' | 'summary' | 'approveAuto' | 'merge'

/** The routes that control agents. */
export const agentWrites = (app: App): Handlers<Pick<Contract['agents'], Writes>> => {
  const { db, supervisor } = app
  return {
    cancel: (ref, call) => call.write(tx => sessionCommands.cancel(tx, supervisor, ref), nothing),
    send: ({ content, attachmentIds, ...ref }, call) =>
      startingWrite(
        app,
        call,
        async tx => {
          const sent = await sessionCommands.send(tx, supervisor, by(ref, call), { content, attachmentIds })
          await goOnAfterMessage(tx, ref.cardId)
          return sent
        },
        message => message,
      ),
    retry: ({ force, ...ref }, call) =>
      startingWrite(app, call, tx => sessionCommands.retry(tx, supervisor, by(ref, call), force), nothing),
    relaunch: ({ force, ...ref }, call) =>
      startingWrite(app, call, tx => sessionCommands.relaunch(tx, supervisor, by(ref, call), force), nothing),
    relay: ref => sessionCommands.requestHandoff(db, supervisor, ref),
    approvePlan: async ({ projectId, cardId, ...answer }, { audit, caller }) => {
      audit?.note(await approvePlan(db, supervisor, { projectId, cardId, caller }, answer))
    },
    summary: async ref => ({ summary: await sessionCommands.summarizeWork(db, supervisor, ref) }),
    approveAuto: (ref, call) => startingWrite(app, call, tx => approveStep(tx, supervisor, by(ref, call)), nothing),
    merge: async ({ into, squash, repository, ...ref }, { caller }) => {
      const card = await cards.find(db, ref)
      const project = await projects.find(db, ref.projectId)
      const all = await mergeRepositories(app.worktrees, db, card, project, { into, squash, repository })
      await db.transaction(async tx => {
        for (const { repository: name, branch, into: to } of all)
          recordActivity(tx, card.id, 'card.merged', [{ field: 'branch', from: branch, to: branchWords(name, to) }])
      }, actorOf(caller))
      const repositories = all.map(({ branch: _, ...each }) => each)
      const [first] = repositories
      return { merged: all.some(each => each.merged), into: first!.into, commit: first!.commit, repositories }
    },
  }
}

const nothing = () => undefined
/** Adds the caller. */
const by = <Ref extends object>(ref: Ref, { caller }: Call) => ({ ...ref, caller })
