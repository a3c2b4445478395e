/**
 * The reason for an item of an inbox. Data alone: the page imports it without the schemas.
 * - `question`: an agent or a monitor waits for an answer.
 * - `silent`: an agent shows no sign of life.
 * - `budget`: an agent waits until a budget allows it to continue.
 * - `failed`: an agent has failed or was interrupted.
 * - `gate`: the work is completed, and a gate has not passed.
 * - `review`: the work is completed, and awaits a review or a merge.
 * - `due`: a card that the user watches is due within a day, or overdue.
 * - `mention`, `comment`: a comment mentions the user, or is on a card that the user watches.
 * - `assigned`: another user has assigned the card.
 */
export const inboxKinds = [
  'question',
  'silent',
  'budget',
  'failed',
  'gate',
  'review',
  'due',
  'mention',
  'comment',
  'assigned',
] as const
export type InboxKind = (typeof inboxKinds)[number]
