import * as v from 'valibot'
import { AgentChoice, ChangedAgentChoice } from '../agents/agentChoice.ts'
import { AgentSlots, ChangedAgentSlots } from '../agents/agentSlots.ts'
import { integer, text } from '../fields.ts'
import { admin, get, put, user } from '../route.ts'
import { defaultShortcuts, type ShortcutAction } from './shortcuts.ts'

const UserSettingsFields = {
  theme: v.picklist(['system', 'light', 'dark'], 'must be system, light or dark'),
  highContrast: v.boolean(),
  sidebarExpanded: v.boolean(),
  /** How the board in the browser draws cards: several lines each, or one. */
  density: v.picklist(['comfortable', 'compact'], 'must be comfortable or compact'),
  agentReasoning: v.boolean(),
  statusLine: v.boolean(),
  hiddenToolTypes: v.pipe(v.array(text(1, 100)), v.maxLength(100)),
}
export const UserSettings = v.object(UserSettingsFields)
export type UserSettings = v.InferOutput<typeof UserSettings>

const actions = Object.keys(defaultShortcuts) as ShortcutAction[]
const KeyNames = text(1, 100)
export const Shortcuts = v.object(
  Object.fromEntries(actions.map(action => [action, KeyNames])) as Record<ShortcutAction, typeof KeyNames>,
)
const SetShortcuts = v.strictObject(
  Object.fromEntries(actions.map(action => [action, v.optional(KeyNames)])) as Record<
    ShortcutAction,
    v.OptionalSchema<typeof KeyNames, undefined>
  >,
)

const ContextRelayFields = {
  enabled: v.boolean(),
  thresholdPercent: integer(1, 99),
  maxSummaryTokens: integer(100, 100_000),
}
/** When a session with a filled context is handed off to a fresh one, and the maximum length of the handoff. */
export const ContextRelay = v.object(ContextRelayFields)
export const defaultContextRelay: v.InferOutput<typeof ContextRelay> = {
  enabled: true,
  thresholdPercent: 80,
  maxSummaryTokens: 4000,
}

export const settings = {
  getUser: get('/api/user/settings', { who: user, summary: "Get the caller's settings", output: UserSettings }),
  setUser: put('/api/user/settings', {
    who: user,
    summary: "Update the caller's settings",
    details: 'Omitted fields are unchanged.',
    input: v.partial(v.strictObject(UserSettingsFields)),
    output: UserSettings,
  }),
  getShortcuts: get('/api/settings/keyboard-shortcuts', {
    who: user,
    summary: "Get the caller's keyboard shortcuts",
    output: Shortcuts,
  }),
  setShortcuts: put('/api/settings/keyboard-shortcuts', {
    who: user,
    summary: "Update the caller's keyboard shortcuts",
    details: 'Omitted actions are unchanged.',
    input: SetShortcuts,
    output: Shortcuts,
  }),
  getContextRelay: get('/api/settings/context-relay', {
    who: user,
    summary: 'Get the context relay settings, which determine when a session is handed off to a new one',
    output: ContextRelay,
  }),
  getAgents: get('/api/settings/agents', {
    who: user,
    summary: "Get the server's default agent, with its model, mode and effort",
    output: AgentChoice,
  }),
  setAgents: put('/api/settings/agents', {
    audited: { target: 'settings', named: 'agents', detail: ['agent', 'profile', 'model', 'mode', 'effort'] },
    who: admin,
    summary: "Update the server's default agent, model, mode or effort",
    input: ChangedAgentChoice,
    output: AgentChoice,
  }),
  getAgentSlots: get('/api/settings/agent-slots', {
    who: user,
    summary: 'Get the maximum number of concurrent agents on all machines, in total and per agent',
    output: AgentSlots,
  }),
  setAgentSlots: put('/api/settings/agent-slots', {
    audited: { target: 'settings', named: 'agent-slots', detail: ['server'] },
    who: admin,
    summary: 'Update the maximum number of concurrent agents',
    details: 'A lower number does not stop running agents.',
    input: ChangedAgentSlots,
    output: AgentSlots,
  }),
  setContextRelay: put('/api/settings/context-relay', {
    audited: { target: 'settings', named: 'context-relay' },
    who: admin,
    summary: 'Update the context relay settings',
    details: 'Omitted fields are unchanged.',
    input: v.partial(v.strictObject(ContextRelayFields)),
    output: ContextRelay,
  }),
}
