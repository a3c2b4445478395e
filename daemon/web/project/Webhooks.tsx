import { useState } from 'react'
import { announce, showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { useLoad } from '../app/load.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Check, Checks, TextInput, useFields } from '../ui/Inputs.tsx'
import { Rows, useEditing, type EditProps } from '../ui/Rows.tsx'
import { SecretDialog } from '../ui/Secret.tsx'
import { Deliveries } from './Deliveries.tsx'
import { webhookEventTypes, type WebhookEventType } from './eventTypes.ts'
import type { Webhook } from './records.ts'
import type { SectionProps } from './sectionProps.ts'

/** The webhooks to which the project's events are sent. */
export function WebhooksSection(props: SectionProps) {
  const { project, mayManage } = props
  const list = useLoad(() => client.webhooks.list({ projectId: project.id }), [project.id])
  const editing = useEditing<Webhook>(list)
  const [shown, setShown] = useState<Webhook>()
  const [secret, setSecret] = useState<string>()
  return (
    <>
      <p>Events of the project are sent to these URLs as signed JSON (Standard Webhooks).</p>
      {mayManage && (
        <div className="tools">
          <Button isMain icon="add" onClick={editing.add}>
            New webhook
          </Button>
        </div>
      )}
      <Rows of={list} label="Webhooks" empty="No webhooks.">
        {webhook => (
          <WebhookRow
            {...props}
            webhook={webhook}
            reload={list.reload}
            onEdit={() => editing.edit(webhook)}
            onShow={() => setShown(webhook)}
            onSecret={setSecret}
          />
        )}
      </Rows>
      {editing.isOpen && <Edit {...props} {...editing.dialog} webhook={editing.edited} onSecret={setSecret} />}
      {shown && <Deliveries webhook={shown} maySend={mayManage} onClose={() => setShown(undefined)} />}
      {secret && (
        <SecretDialog
          title="Webhook secret"
          label="Signing secret"
          hint="The receiver verifies signatures with this secret. It is shown only once."
          value={secret}
          onClose={() => setSecret(undefined)}
        />
      )}
    </>
  )
}

interface RowProps extends SectionProps {
  webhook: Webhook
  reload: () => Promise<void>
  onEdit: () => void
  onShow: () => void
  onSecret: (secret: string) => void
}

function WebhookRow({ webhook, mayManage, reload, onEdit, onShow, onSecret }: RowProps) {
  const { url, events, enabled, description, disabledReason, createdBy } = webhook
  const place = { projectId: webhook.projectId, webhookId: webhook.id }
  const rotate = () =>
    confirm({
      title: 'Create a new secret',
      text: `Deliveries to ${url} are then signed with the new secret.`,
      submit: 'Create',
      isDanger: false,
      run: async () => onSecret((await client.webhooks.rotate(place)).secret),
    })
  const remove = () =>
    confirm({
      title: 'Delete webhook',
      text: `Events are no longer sent to ${url}. The record of deliveries is also deleted.`,
      submit: 'Delete',
      run: async () => {
        await client.webhooks.delete(place)
        await reload()
        announce('Deleted the webhook.')
      },
    })
  const test = async () => {
    await client.webhooks.test(place)
    onShow()
  }
  return (
    <>
      <div className="what">
        <strong>{url}</strong> {!enabled && <span className="label">off</span>}
        {description && <div>{description}</div>}
        {disabledReason && <div className="error">Disabled: {disabledReason}</div>}
        <div className="dim">
          {events.length === webhookEventTypes.length ? 'every event' : events.join(', ')}
          {createdBy && ` · permissions of ${createdBy.keyName ?? createdBy.displayName ?? 'a deleted account'}`}
        </div>
      </div>
      <div className="tools">
        <Button onClick={onShow} aria-label={`Deliveries to ${url}`}>
          Deliveries
        </Button>
        {mayManage && (
          <>
            <Button onClick={test} aria-label={`Test ${url}`}>
              Test
            </Button>
            <Button onClick={onEdit} aria-label={`Edit ${url}`}>
              Edit
            </Button>
            <Button onClick={rotate} aria-label={`New secret for ${url}`}>
              New secret
            </Button>
            <Button isDanger onClick={remove} aria-label={`Delete ${url}`}>
              Delete
            </Button>
          </>
        )}
      </div>
    </>
  )
}

function Edit({
  project,
  webhook,
  onClose,
  onSaved,
  onSecret,
}: SectionProps & EditProps & { webhook?: Webhook; onSecret: (secret: string) => void }) {
  const { values, bind } = useFields({
    url: webhook?.url ?? '',
    description: webhook?.description ?? '',
    enabled: webhook?.enabled ?? true,
    events: (webhook?.events ?? webhookEventTypes) as readonly WebhookEventType[],
  })
  const save = async () => {
    const sent = { ...values, events: [...values.events], description: values.description || null }
    if (webhook) {
      await client.webhooks.update({ projectId: project.id, webhookId: webhook.id, ...sent })
      showMessage('Saved the webhook.')
    } else onSecret((await client.webhooks.create({ projectId: project.id, ...sent })).secret)
    await onSaved()
  }
  return (
    <FormDialog
      title={webhook ? 'Edit webhook' : 'New webhook'}
      kind="wide"
      onClose={onClose}
      submit={webhook ? 'Save' : 'Create'}
      onSubmit={save}
    >
      <TextInput
        label="URL"
        type="url"
        required
        placeholder="https://"
        hint="The webhook uses your permissions. If you lose access to an event, the webhook is disabled."
        {...bind('url')}
      />
      <TextInput label="Description" maxLength={500} {...bind('description')} />
      <Check label="Enabled" {...bind('enabled')} />
      <Checks label="Events" options={webhookEventTypes} {...bind('events')} />
    </FormDialog>
  )
}
