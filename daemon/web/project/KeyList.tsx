import type { Contract } from '../../../src/contract/index.ts'
import type { Output, Permission } from '../../../src/contract/route.ts'
import type { Loaded } from '../app/load.ts'
import { client } from '../app/session.ts'
import { GroupedChecks, groupsBySubject } from '../ui/GroupedChecks.tsx'
import { Choice, TextInput } from '../ui/Inputs.tsx'
import { ResourceSection, type ResourceRow } from '../ui/ResourceSection.tsx'
import { showSecret } from '../ui/showSecret.tsx'
import { formatTime, Time } from '../ui/Time.tsx'

type Key = Output<Contract['keys']['list']>[number]
/** A scope of a key as a form value. For an organization or a project, the ID follows. */
type Place = readonly [value: string, text: string]

interface KeyListProps {
  list: Loaded<Key[]>
  about: string
  /** The scopes for a new key. The choice is hidden if there is only one. */
  places: readonly [Place, ...Place[]]
  /** Returns the permissions that a new key can have in a scope. */
  offered: (place: string) => readonly Permission[]
  /** Returns the name of a key's scope, for lists with keys of several scopes. */
  placeOf?: (key: Key) => string
  empty: string
}

const groups = {
  projects: 'Project',
  boards: 'Project',
  exports: 'Project',
  cards: 'Cards',
  comments: 'Cards',
  pipelines: 'Agents',
  agents: 'Agents',
  gates: 'Automation',
  scripts: 'Automation',
  schedules: 'Automation',
  monitors: 'Automation',
  webhooks: 'Automation',
  backups: 'Server',
}

const expiries = [
  ['7', 'in a week'],
  ['30', 'in 30 days'],
  ['90', 'in 90 days'],
  ['366', 'in a year'],
] as const

/** Splits the form value of a scope: its kind, and the ID of the organization or project. */
const splitPlace = (place: string) => place.split(' ') as ['server' | 'organization' | 'project', string | undefined]

const showKey = ({ name, key }: { name: string; key: string }) =>
  showSecret({ title: `Key ${name}`, label: 'API key', value: key })

/** A person's API keys, and the form that creates one and shows its secret once. */
export function KeyList({ list, about, places, offered, placeOf, empty }: KeyListProps) {
  const create = async ({ name, place, permissions, days }: NewKey) => {
    const [scope, id] = splitPlace(place)
    showKey(
      await client.keys.create({
        name,
        scope,
        projectId: scope === 'project' ? id : undefined,
        organizationId: scope === 'organization' ? id : undefined,
        permissions: permissions.filter(each => offered(place).includes(each)),
        expiresInDays: Number(days),
      }),
    )
  }
  return (
    <ResourceSection<Key, NewKey>
      of={list}
      label="API keys"
      about={about}
      empty={empty}
      row={key => ({ ...rowOf(key, placeOf?.(key)), isEditable: false })}
      form={{
        noun: 'key',
        initial: () => ({ name: '', place: places[0][0], permissions: ['cards.read'], days: '90' }),
        save: create,
        fields: ({ values, bind }) => (
          <>
            <TextInput
              label="Name"
              required
              maxLength={200}
              hint="The program that uses the key, for example CI."
              {...bind('name')}
            />
            {places.length > 1 && <Choice label="Scope" options={places} {...bind('place')} field="scope" />}
            <Choice label="Expiry" options={expiries} {...bind('days')} field="expiresInDays" />
            <GroupedChecks
              label="Permissions"
              isOpen
              groups={groupsBySubject(offered(values.place), groups)}
              {...bind('permissions')}
            />
          </>
        ),
      }}
    />
  )
}

interface NewKey {
  name: string
  place: string
  permissions: readonly Permission[]
  days: string
}

/** @param place - the scope of the key, as text */
function rowOf(key: Key, place: string | undefined): ResourceRow {
  const { id, name, app, prefix, lastFour: end, expiresAt, lastUsedAt, permissions } = key
  const isExpired = Date.parse(expiresAt) < Date.now()
  return {
    name,
    badges: [app !== null && `connected app, ${app}`, isExpired && 'expired'],
    about: (
      <>
        {app === null && (
          <code>
            {prefix}…{end}
          </code>
        )}
        {!isExpired && ` ${app === null ? 'until' : 'if unused, until'} ${formatTime(expiresAt, 'day')}`} ·{' '}
        {lastUsedAt === null ? (
          'never used'
        ) : (
          <>
            used <Time at={lastUsedAt} />
          </>
        )}
        {place !== undefined && ` · works in ${place}`}
        <div>{permissions.join(', ')}</div>
      </>
    ),
    remove: {
      verb: 'Revoke',
      text: 'Programs that use this key lose access immediately. Its webhooks are disabled.',
      run: () => client.keys.revoke({ id }),
    },
    actions: [
      !isExpired &&
        app === null && {
          label: 'Replace',
          confirm: {
            title: `Replace ${name}`,
            text: 'This creates a new key with the same permissions. The old key stays valid for one hour.',
          },
          run: async () => showKey(await client.keys.rotate({ id, graceSecs: 3600 })),
        },
    ],
  }
}
