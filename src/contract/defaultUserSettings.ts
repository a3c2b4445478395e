import type { UserSettings } from './settings.ts'

/** The settings of a person who has changed none. In a file of its own, so that the page needs no validator for it. */
export const defaultUserSettings: UserSettings = {
  theme: 'system',
  highContrast: false,
  sidebarExpanded: true,
  density: 'comfortable',
  agentReasoning: true,
  statusLine: true,
  hiddenToolTypes: [],
}
