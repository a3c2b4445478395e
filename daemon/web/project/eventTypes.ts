import type { EventType } from '../../../src/contract/events.ts'

type Sent = Exclude<EventType, 'notification' | 'project.created' | 'project.deleted'>

/** What a webhook can be sent. The contract's own list would bring its schemas with it. */
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
  'card.ready': true,
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
  'monitor.created': true,
  'monitor.updated': true,
  'monitor.deleted': true,
  'script.started': true,
  'script.finished': true,
  'attachment.created': true,
  'attachment.deleted': true,
}
export const webhookEventTypes = Object.keys(sent) as Sent[]
export type WebhookEventType = Sent
