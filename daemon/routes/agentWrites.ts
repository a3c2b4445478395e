import type { App } from '../../src/app.ts'
import { approveStep } from '../../src/agents/sessions/advancePipeline.ts'
import * as sessionCommands from '../../src/agents/sessions/sessionCommands.ts'
import type { Contract } from '../../src/contract/index.ts'
import * as cards from '../../src/domain/cards.ts'
import { merge } from '../../src/domain/changes.ts'
import * as projects from '../../src/domain/projects.ts'
import type { Transaction } from '../../src/store/database.ts'
import type { Call, Handlers } from '../http/handlers.ts'

type Writes = 'cancel' | 'send' | 'retry' | 'relaunch' | 'relay' | 'approvePlan' | 'summary' | 'approveAuto' | 'merge'

/** The routes that control agents. */
export const agentWrites = ({ db, supervisor }: App): Handlers<Pick<Contract['agents'], Writes>> => {
  /** A write that may start an agent, for which the catalogue is refreshed first. */
  const write = async <T, O>(
    call: Call,
    work: (tx: Transaction) => Promise<T>,
    present: (result: T) => O,
  ): Promise<O> => {
    await supervisor.refresh()
    return call.write(work, present)
  }
  return {
    cancel: (ref, call) => call.write(tx => sessionCommands.cancel(tx, supervisor, ref), nothing),
    send: ({ content, attachmentIds, ...ref }, call) =>
      write(
        call,
        tx => sessionCommands.send(tx, supervisor, by(ref, call), { content, attachmentIds }),
        message => message,
      ),
    retry: ({ force, ...ref }, call) =>
      write(call, tx => sessionCommands.retry(tx, supervisor, by(ref, call), force), nothing),
    relaunch: ({ force, ...ref }, call) =>
      write(call, tx => sessionCommands.relaunch(tx, supervisor, by(ref, call), force), nothing),
    relay: ref => sessionCommands.requestHandoff(db, supervisor, ref),
    approvePlan: async ({ projectId, cardId, ...answer }, { audit }) => {
      audit?.note(await sessionCommands.approvePlan(db, supervisor, { projectId, cardId }, answer))
    },
    summary: async ref => ({ summary: await sessionCommands.summarizeWork(db, supervisor, ref) }),
    approveAuto: (ref, call) => write(call, tx => approveStep(tx, supervisor, by(ref, call)), nothing),
    merge: async ({ into, squash, ...ref }) =>
      merge(await cards.find(db, ref), await projects.find(db, ref.projectId), { into, squash }),
  }
}

const nothing = () => undefined
/** Adds the caller. */
const by = <Ref extends object>(ref: Ref, { caller }: Call) => ({ ...ref, caller })
