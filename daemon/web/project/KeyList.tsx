import { useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output, Permission } from '../../../src/contract/route.ts'
import type { Loaded } from '../app/load.ts'
import { announce } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Checks, Choice, TextInput, useFields } from '../ui/Inputs.tsx'
import { Rows } from '../ui/Rows.tsx'
import { SecretDialog } from '../ui/Secret.tsx'
import { formatTime, Time } from '../ui/Time.tsx'

type Key = Output<Contract['keys']['list']>[number]
interface Made {
  name: string
  key: string
}
/** A scope of a key as a form value. For an organization or a project, the ID follows. */
type Place = readonly [value: string, text: string]

interface KeyListProps {
  list: Loaded<Key[]>
  /** The scopes for a new key. The choice is hidden if there is only one. */
  places: readonly [Place, ...Place[]]
  /** Returns the permissions that a new key can have in a scope. */
  offered: (place: string) => readonly Permission[]
  /** Returns the name of a key's scope, for lists with keys of several scopes. */
  placeOf?: (key: Key) => string
  empty: string
}

/** A person's API keys, and the form that creates one and shows its secret once. */
export function KeyList({ list, placeOf, empty, ...making }: KeyListProps) {
  const [isMaking, setMaking] = useState(false)
  const [made, setMade] = useState<Made>()
  return (
    <>
      <div className="tools">
        <Button isMain icon="add" onClick={() => setMaking(true)}>
          New key
        </Button>
      </div>
      <Rows of={list} label="API keys" empty={empty}>
        {key => <KeyRow apiKey={key} place={placeOf?.(key)} reload={list.reload} onMade={setMade} />}
      </Rows>
      {isMaking && (
        <NewKey
          {...making}
          onClose={() => setMaking(false)}
          onMade={async key => {
            setMaking(false)
            setMade(key)
            await list.reload()
          }}
        />
      )}
      {made && (
        <SecretDialog title={`Key ${made.name}`} label="API key" value={made.key} onClose={() => setMade(undefined)} />
      )}
    </>
  )
}

/** A key and its actions. */
function KeyRow({
  apiKey: key,
  place,
  reload,
  onMade,
}: {
  apiKey: Key
  /** The scope of the key, as text. */
  place: string | undefined
  reload: () => Promise<void>
  onMade: (key: Made) => void
}) {
  const isExpired = Date.parse(key.expiresAt) < Date.now()
  const rotate = () =>
    confirm({
      title: `Replace ${key.name}`,
      text: 'This creates a new key with the same permissions. The old key stays valid for one hour.',
      submit: 'Replace',
      isDanger: false,
      run: async () => {
        onMade(await client.keys.rotate({ id: key.id, graceSecs: 3600 }))
        await reload()
      },
    })
  const revoke = () =>
    confirm({
      title: `Revoke ${key.name}`,
      text: 'Programs that use this key lose access immediately. Its webhooks are disabled.',
      submit: 'Revoke',
      run: async () => {
        await client.keys.revoke({ id: key.id })
        await reload()
        announce(`Revoked ${key.name}.`)
      },
    })
  return (
    <>
      <div className="what">
        <strong>{key.name}</strong>{' '}
        {key.app === null ? (
          <code>
            {key.prefix}…{key.lastFour}
          </code>
        ) : (
          <span className="dim">connected app, {key.app}</span>
        )}
        <div className="dim">
          {isExpired
            ? 'expired'
            : `${key.app === null ? 'until' : 'if unused, until'} ${formatTime(key.expiresAt, 'day')}`}{' '}
          ·{' '}
          {key.lastUsedAt === null ? (
            'never used'
          ) : (
            <>
              used <Time at={key.lastUsedAt} />
            </>
          )}
        </div>
        {place !== undefined && <div className="dim">works in {place}</div>}
        <div className="dim">{key.permissions.join(', ')}</div>
      </div>
      {!isExpired && key.app === null && (
        <Button onClick={rotate} aria-label={`Replace ${key.name}`}>
          Replace
        </Button>
      )}
      <Button isDanger onClick={revoke} aria-label={`Revoke ${key.name}`}>
        Revoke
      </Button>
    </>
  )
}

const expiries = [
  ['7', 'in a week'],
  ['30', 'in 30 days'],
  ['90', 'in 90 days'],
  ['366', 'in a year'],
] as const

interface NewKeyProps extends Pick<KeyListProps, 'places' | 'offered'> {
  onClose: () => void
  onMade: (key: Made) => Promise<void>
}

function NewKey({ places, offered, onClose, onMade }: NewKeyProps) {
  const { values, bind } = useFields<{ name: string; place: string; permissions: readonly Permission[]; days: string }>(
    { name: '', place: places[0][0], permissions: ['cards.read'], days: '90' },
  )
  const [scope, id] = values.place.split(' ') as ['server' | 'organization' | 'project', string | undefined]
  const may = offered(values.place)
  const make = async () =>
    onMade(
      await client.keys.create({
        name: values.name,
        scope,
        projectId: scope === 'project' ? id : undefined,
        organizationId: scope === 'organization' ? id : undefined,
        permissions: values.permissions.filter(each => may.includes(each)),
        expiresInDays: Number(values.days),
      }),
    )
  return (
    <FormDialog title="New key" onClose={onClose} submit="Create key" onSubmit={make}>
      <TextInput
        label="Name"
        required
        maxLength={200}
        hint="The program that uses the key, for example CI."
        {...bind('name')}
      />
      {places.length > 1 && <Choice label="Scope" options={places} {...bind('place')} field="scope" />}
      <Choice label="Expiry" options={expiries} {...bind('days')} field="expiresInDays" />
      <Checks label="Permissions" options={may} {...bind('permissions')} />
    </FormDialog>
  )
}
