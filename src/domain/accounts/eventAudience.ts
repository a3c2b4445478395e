import * as v from 'valibot'
import { Problem } from '../../contract/errors.ts'
import { events, eventSpec, type EventData, type EventType, type Subject } from '../../contract/server/events.ts'
import type { Permission } from '../../contract/route.ts'
import { presentRecords, type StoredEvent } from '../../store/server/events.ts'
import type { Reader } from '../../store/engine/database.ts'
import type { Caller } from './caller.ts'

/** A class of recipients with the same read access to events. */
export interface Audience {
  /** Identifies the access. Audiences with equal names can share frames. */
  readonly name: string
  /** Whether the audience can see any event. */
  readonly seesAnything: boolean
  /** Whether the audience sees events of a type with all their data instead of only an outline. */
  seesWhole(type: EventType): boolean
  /** The event, or its outline. Undefined if the audience cannot see it. */
  view(event: StoredEvent): StoredEvent | undefined
}

/** Callers without an API key. */
const everybody: Audience = {
  name: '',
  seesAnything: true,
  seesWhole: () => true,
  view: event => event,
}

/** The permissions that give a key access to some events. */
export const eventPermissions: readonly Permission[] = [
  ...new Set(
    (Object.keys(events) as EventType[]).flatMap(type => {
      const { permissions, outline } = eventSpec(type)
      return [...permissions, ...(outline ? [outline.permission] : [])]
    }),
  ),
]

/** The audience of a key's permissions. Without a key, it sees everything that a viewer can read. */
export function audienceOf(permissions: readonly Permission[] | undefined): Audience {
  if (!permissions) return everybody
  const held = permissions.filter(permission => eventPermissions.includes(permission)).sort()
  return audienceWith(`key:${held.join()}`, new Set(held))
}

function audienceWith(name: string, held: ReadonlySet<Permission>): Audience {
  const isWhole = (type: EventType) => {
    const { permissions } = eventSpec(type)
    return held.size > 0 && (permissions.length === 0 || permissions.some(permission => held.has(permission)))
  }
  const outlineOf = (type: EventType) => {
    const { outline } = eventSpec(type)
    return outline && held.has(outline.permission) ? outline.data : undefined
  }
  return {
    name,
    seesAnything: held.size > 0,
    seesWhole: isWhole,
    view: event => {
      if (isWhole(event.type))
        return event.type !== 'notification' || maySeeNotification(event, held) ? event : undefined
      const outline = outlineOf(event.type)
      return outline && { ...event, data: JSON.stringify(v.parse(outline, JSON.parse(event.data))) }
    },
  }
}

/** A monitor's notification contains its command, and a budget's notification contains the agents' spending. */
function maySeeNotification({ data }: StoredEvent, held: ReadonlySet<Permission>): boolean {
  const { kind } = JSON.parse(data) as EventData<'notification'>
  if (kind === 'budget') return held.has('agents.read')
  return kind !== 'monitorFailing' || held.has('monitors.read')
}

/** Filters replayed events: records that were deleted since are omitted, except for the events of their deletion. */
export async function withoutDeleted(db: Reader, stored: readonly StoredEvent[]): Promise<StoredEvent[]> {
  const subjects = new Map<Subject, Set<string>>()
  const listed = stored.map(event => ({ event, elements: elementsOf(event) }))
  for (const { event, elements } of listed)
    for (const [subject, field] of aboutOf(event.type))
      for (const element of elements) {
        const ids = subjects.get(subject) ?? new Set()
        if (element[field] !== null) subjects.set(subject, ids.add(String(element[field])))
      }
  if (subjects.size === 0) return [...stored]
  const present = await presentRecords(db, subjects)
  return listed.flatMap(({ event, elements }) => {
    const left = elements.filter(element =>
      aboutOf(event.type).every(
        ([subject, field]) => element[field] === null || present.get(subject)?.has(String(element[field])),
      ),
    )
    if (left.length === elements.length) return [event]
    return left.length > 0 ? [{ ...event, data: JSON.stringify(left) }] : []
  })
}

const aboutOf = (type: EventType) => Object.entries(eventSpec(type).about) as Array<[Subject, string]>

/** The records in an event's data: the elements of its list, or its only record. */
function elementsOf({ type, data }: StoredEvent): Array<Record<string, unknown>> {
  if (aboutOf(type).length === 0) return []
  const parsed = JSON.parse(data) as Record<string, unknown> | Array<Record<string, unknown>>
  return Array.isArray(parsed) ? parsed : [parsed]
}

/**
 * Requires access to all types of events that the caller's webhook will send.
 * @throws Problem INSUFFICIENT_PERMISSIONS
 */
export function requireEventAccess(caller: Pick<Caller, 'key'>, types: readonly string[]): void {
  const why = missingEventAccess(caller, types)
  if (why !== undefined) throw new Problem('INSUFFICIENT_PERMISSIONS', `The API key ${why}.`)
}

/** Why a caller's key cannot see all of these types, as the end of a sentence. Undefined if it can. */
export function missingEventAccess({ key }: Pick<Caller, 'key'>, types: readonly string[]): string | undefined {
  const audience = audienceOf(key?.permissions)
  const invisible = types.filter(type => Object.hasOwn(events, type) && !audience.seesWhole(type as EventType))
  if (invisible.length === 0) return undefined
  const needed = [...new Set(invisible.map(type => eventSpec(type as EventType).permissions[0] ?? 'cards.read'))]
  return `cannot read ${invisible.join(', ')}: it lacks ${needed.join(', ')}`
}
