import type { App } from '../../../src/app.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { changeAgentSlots, readAgentSlots } from '../../../src/domain/agents/agentSlots.ts'
import { changeAgentSettings, readAgentSettings } from '../../../src/domain/agents/agentChoice.ts'
import {
  changeContextRelay,
  changeShortcuts,
  changeUserSettings,
  readContextRelay,
  readShortcuts,
  readUserSettings,
} from '../../../src/domain/accounts/settings.ts'
import type { Handlers } from '../../http/handlers.ts'

export const settingsRoutes = (app: Pick<App, 'db' | 'supervisor'>): Handlers<Contract['settings']> => ({
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
      tx => changeAgentSettings(tx, app.supervisor, change),
      settings => settings,
    ),
  getAgentSlots: () => readAgentSlots(app.db),
  setAgentSlots: (change, call) =>
    call.write(
      async tx => {
        const slots = await changeAgentSlots(tx, app.supervisor, change)
        app.supervisor.reconcile(tx)
        return slots
      },
      slots => slots,
    ),
  getContextRelay: () => readContextRelay(app.db),
  setContextRelay: (change, call) =>
    call.write(
      tx => changeContextRelay(tx, change),
      relay => relay,
    ),
})
