import type { App } from '../../src/app.ts'
import { invalid } from '../../src/contract/errors.ts'
import type { Contract } from '../../src/contract/index.ts'
import { changeAgentSlots, readAgentSlots } from '../../src/domain/agentSlots.ts'
import { changeAgentSettings, readAgentSettings } from '../../src/domain/agentChoice.ts'
import {
  changeContextRelay,
  changeShortcuts,
  changeUserSettings,
  readContextRelay,
  readShortcuts,
  readUserSettings,
} from '../../src/domain/settings.ts'
import type { Handlers } from '../http/handlers.ts'

export const settingsRoutes = (app: App): Handlers<Contract['settings']> => ({
  getUser: (_, call) => readUserSettings(app.db, call.caller.userId),
  setUser: (change, call) =>
    call.write(
      tx => changeUserSettings(tx, call.caller.userId, change),
      settings => settings,
    ),
  getShortcuts: (_, call) => readShortcuts(app.db, call.caller.userId),
  setShortcuts: (change, call) =>
    call.write(
      tx => changeShortcuts(tx, call.caller.userId, change),
      shortcuts => shortcuts,
    ),
  getAgents: () => readAgentSettings(app.db),
  setAgents: (change, call) =>
    call.write(
      tx => changeAgentSettings(tx, change),
      settings => settings,
    ),
  getAgentSlots: () => readAgentSlots(app.db),
  setAgentSlots: async (change, call) => {
    await requireKnownAgents(app, Object.keys(change.agents ?? {}))
    return call.write(
      async tx => {
        const slots = await changeAgentSlots(tx, change)
        app.supervisor.reconcile(tx)
        return slots
      },
      slots => slots,
    )
  },
  getContextRelay: () => readContextRelay(app.db),
  setContextRelay: (change, call) =>
    call.write(
      tx => changeContextRelay(tx, change),
      relay => relay,
    ),
})

/** @throws Problem VALIDATION_FAILED */
async function requireKnownAgents({ catalogue }: App, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const known = (await catalogue.list()).map(({ provider }) => provider.id)
  const unknown = ids.find(id => !known.includes(id))
  if (unknown !== undefined) throw invalid(`agents.${unknown}`, `must be an agent: ${known.join(', ')}`)
}
