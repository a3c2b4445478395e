import { useState } from 'react'
import { useLoad } from '../app/load.ts'
import { showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { GroupedChecks } from '../ui/GroupedChecks.tsx'
import { Check, TextInput } from '../ui/Inputs.tsx'
import { ResourceSection, type ResourceForm, type ResourceRow } from '../ui/ResourceSection.tsx'
import { showSecret } from '../ui/showSecret.tsx'
import { Deliveries } from './Deliveries.tsx'
import { shownEvents, webhookEventGroups, webhookEventTypes, type WebhookEventType } from './eventTypes.ts'
import type { Webhook } from './records.ts'
import type { SectionProps } from './sectionProps.ts'

const initial = (webhook: Webhook | undefined) => ({
  url: webhook?.url ?? '',
  description: webhook?.description ?? '',
  enabled: webhook?.enabled ?? true,
  events: (webhook?.events ?? webhookEventTypes) as readonly WebhookEventType[],
})

const showSigningSecret = ({ secret }: { secret: string }) =>
  showSecret({
    title: 'Webhook secret',
    label: 'Signing secret',
    hint: 'The receiver verifies signatures with this secret. It is shown only once.',
    value: secret,
  })

/** The webhooks to which the project's events are sent. */
export function WebhooksSection({ project: { id: projectId }, mayManage }: SectionProps) {
  const list = useLoad(() => client.webhooks.list({ projectId }), [projectId])
  const [shown, setShown] = useState<Webhook>()
  return (
    <>
      <ResourceSection
        of={list}
        label="Webhooks"
        about="The server sends events of the project to these URLs as signed JSON (Standard Webhooks)."
        empty="No webhooks. Add one to send events to a chat or another program."
        mayEdit={mayManage}
        row={webhook => rowOf(webhook, mayManage, () => setShown(webhook))}
        form={formOf(projectId)}
      />
      {shown && <Deliveries webhook={shown} maySend={mayManage} onClose={() => setShown(undefined)} />}
    </>
  )
}

function rowOf(webhook: Webhook, mayManage: boolean, showDeliveries: () => void): ResourceRow {
  const { url, events, enabled, description, disabledReason, createdBy } = webhook
  const place = { projectId: webhook.projectId, webhookId: webhook.id }
  return {
    name: url,
    badges: [!enabled && 'off'],
    error: disabledReason && `Disabled: ${disabledReason}`,
    about: [
      description,
      shownEvents(events),
      createdBy && `permissions of ${createdBy.keyName ?? createdBy.displayName ?? 'a deleted account'}`,
    ]
      .filter(Boolean)
      .join(' · '),
    remove: mayManage && {
      title: 'Delete webhook',
      text: `Events are no longer sent to ${url}. The record of deliveries is also deleted.`,
      run: () => client.webhooks.delete(place),
    },
    actions: [
      { label: 'Deliveries', run: showDeliveries },
      mayManage && { label: 'Test', run: () => client.webhooks.test(place).then(showDeliveries) },
      mayManage && {
        label: 'New secret',
        confirm: {
          title: 'Create a new secret',
          text: `Deliveries to ${url} are then signed with the new secret.`,
          submit: 'Create',
        },
        run: async () => showSigningSecret(await client.webhooks.rotate(place)),
      },
    ],
  }
}

const formOf = (projectId: string): ResourceForm<Webhook, ReturnType<typeof initial>> => ({
  noun: 'webhook',
  isWide: true,
  initial,
  save: async (values, webhook) => {
    const sent = { ...values, projectId, events: [...values.events], description: values.description || null }
    if (!webhook) return showSigningSecret(await client.webhooks.create(sent))
    await client.webhooks.update({ ...sent, webhookId: webhook.id })
    showMessage('Saved the webhook.')
  },
  fields: ({ bind }) => (
    <>
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
      <GroupedChecks label="Events" groups={webhookEventGroups} {...bind('events')} />
    </>
  ),
})
