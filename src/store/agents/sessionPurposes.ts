/**
 * - `work`: a card's agent
 * - `pre`: the planning agent that refines a card's prompt
 * - `review`: the agent of a gate that reviews a card's files
 * - `assistant`: the project's assistant
 * - `terminal`: a shell command
 */
export type SessionPurpose = 'work' | 'pre' | 'review' | 'assistant' | 'terminal'

/** The purposes of a card's side sessions, which change neither the status of the card nor its transcript. */
const sidePurposes: readonly SessionPurpose[] = ['pre', 'review']
export const isSideSession = (purpose: SessionPurpose): boolean => sidePurposes.includes(purpose)
/** SQL that is false for side sessions. */
export const isOwn = (column: string): string => `${column} NOT IN ('pre', 'review')`

/** Of a card's sessions, one in each track can be open. */
export const trackOf = (purpose: SessionPurpose): string => (isSideSession(purpose) ? purpose : 'own')

/** Whether a session takes one of the slots for agents at work. */
export const takesSlot = (purpose: SessionPurpose): boolean => purpose === 'work' || purpose === 'review'
/** SQL for `takesSlot`. */
export const takesSlotSql = `s.purpose IN ('work', 'review')`
