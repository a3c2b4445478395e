import type { EventType } from '../../../src/contract/server/events.ts'
import { groupsBySubject } from '../ui/GroupedChecks.tsx'

type Sent = Exclude<EventType, 'notification' | 'inbox.updated' | 'project.created' | 'project.deleted'>

/** The event types of webhooks. The contract's own list would also import its schemas. */
const sent: Record<Sent, true> = {
  'project.updated': true,
  'board.created': true,
  'board.updated': true,
  'board.deleted': true,
  'board.reordered': true,
  'column.created': true,
  'column.updated': true,
  'column.deleted': true,
  'column.reordered': true,
  'card.created': true,
  'card.updated': true,
  'card.moved': true,
  'card.completed': true,
  'card.merged': true,
  'card.ready': true,
  'card.assigned': true,
  'card.archived': true,
  'card.unarchived': true,
  'card.restored': true,
  'card.deleted': true,
  'card.viewed': true,
  'agent.status': true,
  'agent.message': true,
  'agent.tool': true,
  'agent.plan': true,
  'agent.permission': true,
  'agent.usage': true,
  'preview.updated': true,
  'review.submitted': true,
  'review.answered': true,
  'pull_request.updated': true,
  'budget.created': true,
  'budget.updated': true,
  'budget.deleted': true,
  'budget.warned': true,
  'budget.exhausted': true,
  'monitor.created': true,
  'monitor.updated': true,
  'monitor.deleted': true,
  'schedule.created': true,
  'schedule.updated': true,
  'schedule.deleted': true,
  'gate.created': true,
  'gate.updated': true,
  'gate.deleted': true,
  'proof.updated': true,
  'landing.updated': true,
  'landing.paused': true,
  'script.started': true,
  'script.finished': true,
  'attachment.created': true,
  'attachment.deleted': true,
  'comment.created': true,
  'comment.updated': true,
  'comment.deleted': true,
}
export const webhookEventTypes = Object.keys(sent) as Sent[]
export type WebhookEventType = Sent

export const webhookEventGroups = groupsBySubject(webhookEventTypes, {
  project: 'Boards and columns',
  board: 'Boards and columns',
  column: 'Boards and columns',
  card: 'Cards and comments',
  attachment: 'Cards and comments',
  comment: 'Cards and comments',
  agent: 'Agents',
  preview: 'Agents',
  review: 'Reviews and pull requests',
  pull_request: 'Reviews and pull requests',
  landing: 'Reviews and pull requests',
  budget: 'Budgets',
  monitor: 'Gates, scripts, schedules and monitors',
  schedule: 'Gates, scripts, schedules and monitors',
  gate: 'Gates, scripts, schedules and monitors',
  proof: 'Gates, scripts, schedules and monitors',
  script: 'Gates, scripts, schedules and monitors',
})

/** Returns the events of a webhook as text: the first ones, and the number of the others. */
export function shownEvents(events: readonly string[]): string {
  if (events.length === webhookEventTypes.length) return 'every event'
  const others = events.length - 3
  return others > 1 ? `${events.slice(0, 3).join(', ')} and ${others} other events` : events.join(', ')
}
