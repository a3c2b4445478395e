import type { App } from '../../../src/app.ts'
import { approveStep } from '../../../src/agents/sessions/advancePipeline.ts'
import { approvePlan } from '../../../src/agents/sessions/questions/approvePlan.ts'
import * as sessionCommands from '../../../src/agents/sessions/sessionCommands.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { withProofs } from '../../../src/cardWork/provedTrees.ts'
import { mergeCard } from '../../../src/cardWork/mergeCard.ts'
import { resumeAfterMessage } from '../../../src/pullRequests/stopLoop.ts'
import type { Call, Handlers } from '../../http/handlers.ts'
import { removalOf } from '../cards/removal.ts'
import { startingWrite } from '../cards/startingWrite.ts'

type Writes = 'cancel' | 'send' | 'retry' | 'relaunch' | 'relay' | 'approvePlan' | 'summary' | 'approveAuto' | 'merge'

/** The routes that control agents. */
export const agentWrites = (
  app: Pick<App, 'cleanup' | 'config' | 'db' | 'isAtWork' | 'supervisor' | 'worktrees'>,
): Handlers<Pick<Contract['agents'], Writes>> => {
  const { db, supervisor } = app
  return {
    cancel: (ref, call) => call.write(tx => sessionCommands.cancel(tx, supervisor, ref)),
    send: ({ content, attachmentIds, ...ref }, call) =>
      startingWrite(
        app,
        call,
        async tx => {
          const sent = await sessionCommands.send(tx, supervisor, withCaller(ref, call), { content, attachmentIds })
          await resumeAfterMessage(tx, ref.cardId)
          return sent
        },
        message => message,
      ),
    retry: ({ force, ...ref }, call) =>
      startingWrite(app, call, tx => sessionCommands.retry(tx, supervisor, withCaller(ref, call), force)),
    relaunch: ({ force, ...ref }, call) =>
      startingWrite(app, call, tx => sessionCommands.relaunch(tx, supervisor, withCaller(ref, call), force)),
    relay: ref => sessionCommands.requestHandoff(db, supervisor, ref),
    approvePlan: async ({ projectId, cardId, ...answer }, { audit, caller }) => {
      audit?.addFields(await approvePlan(db, supervisor, { projectId, cardId, caller }, answer))
    },
    summary: async ref => ({ summary: await sessionCommands.summarizeWork(db, supervisor, ref) }),
    approveAuto: (given, call) =>
      withProofs(app, withCaller(given, call), ref => startingWrite(app, call, tx => approveStep(tx, supervisor, ref))),
    merge: async ({ projectId, cardId, ...options }, { caller }) => {
      const dependencies = { db, worktrees: app.worktrees, agents: supervisor, removal: removalOf(app) }
      const { repositories: all, after } = await mergeCard(dependencies, { projectId, cardId, caller }, options)
      const repositories = all.map(({ repository, merged, into, commit }) => ({ repository, merged, into, commit }))
      const [{ into, commit }] = repositories as [(typeof repositories)[number]]
      return { merged: all.some(each => each.merged), into, commit, after, repositories }
    },
  }
}

/** Adds the caller. */
const withCaller = <Ref extends object>(ref: Ref, { caller }: Call) => ({ ...ref, caller })
