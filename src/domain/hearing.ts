import * as v from 'valibot'
import { Problem } from '../contract/errors.ts'
import { events, eventSpec, type EventData, type EventType, type Subject } from '../contract/events.ts'
import type { Permission } from '../contract/route.ts'
import { presentRecords, type StoredEvent } from '../store/events.ts'
import type { Reader } from '../store/database.ts'
import type { Caller } from './caller.ts'

/** Somebody who may hear a project's events, as far as their rights go. There is one object for all who may hear the same. */
export interface Audience {
  /** Equal for those who may hear the same. */
  readonly name: string
  /** Whether there is any event that it hears. */
  readonly hearsAnything: boolean
  /** Whether it hears events of a type whole, and not only in outline. */
  hearsWhole(type: EventType): boolean
  /** The event as the audience may read it; undefined when it may not hear it. */
  hear(event: StoredEvent): StoredEvent | undefined
}

/** Everybody whose rights are not limited by a key. */
const everybody: Audience = {
  name: '',
  hearsAnything: true,
  hearsWhole: () => true,
  hear: event => event,
}

/** The permissions of which each lets a key hear something. */
export const hearingPermissions: readonly Permission[] = [
  ...new Set(
    (Object.keys(events) as EventType[]).flatMap(type => {
      const { permissions, outline } = eventSpec(type)
      return [...permissions, ...(outline ? [outline.permission] : [])]
    }),
  ),
]
/** By name: at most one for each combination of the few permissions that matter. */
const audiences = new Map<string, Audience>()

/** Who hears what with a key's permissions; without a key, everything that a viewer reads. */
export function audienceOf(permissions: readonly Permission[] | undefined): Audience {
  if (!permissions) return everybody
  const held = permissions.filter(permission => hearingPermissions.includes(permission)).sort()
  const name = `key:${held.join()}`
  const known = audiences.get(name)
  if (known) return known
  const audience = audienceWith(name, new Set(held))
  audiences.set(name, audience)
  return audience
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
    hearsAnything: held.size > 0,
    hearsWhole: isWhole,
    hear: event => {
      if (isWhole(event.type))
        return event.type !== 'notification' || mayHearNotification(event, held) ? event : undefined
      const outline = outlineOf(event.type)
      return outline && { ...event, data: JSON.stringify(v.parse(outline, JSON.parse(event.data))) }
    },
  }
}

/** A notification of a monitor names its command. */
const mayHearNotification = ({ data }: StoredEvent, held: ReadonlySet<Permission>): boolean =>
  held.has('monitors.read') || (JSON.parse(data) as EventData<'notification'>).kind !== 'monitorFailing'

/**
 * Events as they may be told to somebody who asks for them later: what is deleted by now is not told any more, only that it
 * was. They stay as they are otherwise, in their order.
 */
export async function withoutDeleted(db: Reader, stored: readonly StoredEvent[]): Promise<StoredEvent[]> {
  const subjects = new Map<Subject, Set<string>>()
  const told = stored.map(event => ({ event, elements: elementsOf(event) }))
  for (const { event, elements } of told)
    for (const [subject, field] of aboutOf(event.type))
      for (const element of elements) {
        const ids = subjects.get(subject) ?? new Set()
        if (element[field] !== null) subjects.set(subject, ids.add(String(element[field])))
      }
  if (subjects.size === 0) return [...stored]
  const present = await presentRecords(db, subjects)
  return told.flatMap(({ event, elements }) => {
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

/** What an event tells of: the elements of its list, or its only record. Nothing is read where nothing depends on it. */
function elementsOf({ type, data }: StoredEvent): Array<Record<string, unknown>> {
  if (aboutOf(type).length === 0) return []
  const parsed = JSON.parse(data) as Record<string, unknown> | Array<Record<string, unknown>>
  return Array.isArray(parsed) ? parsed : [parsed]
}

/**
 * Lets a caller pass who may hear all of these types, for somebody else will be sent them.
 * @throws Problem INSUFFICIENT_PERMISSIONS
 */
export function requireHearing(caller: Pick<Caller, 'key'>, types: readonly string[]): void {
  const why = whyNotHeard(caller, types)
  if (why !== undefined) throw new Problem('INSUFFICIENT_PERMISSIONS', `The API key ${why}.`)
}

/** What a caller's key lacks to hear all of these types, as the end of a sentence; undefined when it lacks nothing. */
export function whyNotHeard({ key }: Pick<Caller, 'key'>, types: readonly string[]): string | undefined {
  const audience = audienceOf(key?.permissions)
  const unheard = types.filter(type => Object.hasOwn(events, type) && !audience.hearsWhole(type as EventType))
  if (unheard.length === 0) return undefined
  const needed = [...new Set(unheard.map(type => eventSpec(type as EventType).permissions[0] ?? 'cards.read'))]
  return `may not read ${unheard.join(', ')}: it lacks ${needed.join(', ')}`
}
