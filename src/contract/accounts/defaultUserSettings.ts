import type { UserSettings } from './settings.ts'

/** The settings of an account that has changed none. In a separate file, so that the page does not load a validator for it. */
export const defaultUserSettings: UserSettings = {
  theme: 'system',
  highContrast: false,
  sidebarExpanded: true,
  density: 'comfortable',
  agentReasoning: true,
  statusLine: true,
  hiddenToolTypes: [],
}
