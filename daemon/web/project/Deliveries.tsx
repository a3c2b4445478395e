import { useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { showError } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { useLoad } from '../app/load.ts'
import { Button } from '../ui/Button.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { Await } from '../ui/Page.tsx'
import { formatTime, Time } from '../ui/Time.tsx'
import { usePoll } from '../ui/usePoll.ts'
import type { Webhook } from './records.ts'

type Delivery = Output<Contract['webhooks']['deliveries']>['items'][number]
const statusClass = { pending: 'queued', succeeded: 'completed', failed: 'failed' }

/** The deliveries of a webhook and the responses, newest first. */
export function Deliveries({ webhook, maySend, onClose }: { webhook: Webhook; maySend: boolean; onClose: () => void }) {
  const place = { projectId: webhook.projectId, webhookId: webhook.id }
  const list = useLoad(() => client.webhooks.deliveries(place), [webhook.id])
  const [older, setOlder] = useState<{ items: Delivery[]; nextCursor: string | null }>()
  const cursor = older ? older.nextCursor : list.value?.nextCursor
  const readOlder = async () => {
    const more = await client.webhooks.deliveries({ ...place, cursor: Number(cursor) })
    setOlder({ items: [...(older?.items ?? []), ...more.items], nextCursor: more.nextCursor })
  }
  usePoll(true, list.value?.items.some(({ status }) => status === 'pending') ? 700 : 5000, list.reload)
  const redeliver = async (deliveryId: string) => {
    await client.webhooks.redeliver({ ...place, deliveryId }).catch(showError)
    await list.reload()
  }
  return (
    <Dialog title={`Deliveries to ${webhook.url}`} kind="wide" onClose={onClose}>
      <Await of={list}>
        {({ items }) => {
          const all = [...items, ...(older?.items ?? []).filter(({ id }) => items.every(each => each.id !== id))]
          return (
            <ul className="rows" aria-label="Deliveries">
              {all.map(delivery => (
                <li key={delivery.id}>
                  <DeliveryRow delivery={delivery} />
                  {maySend && (
                    <Button onClick={() => redeliver(delivery.id)} aria-label={`Resend: ${delivery.type}`}>
                      {' '}
                      Resend{' '}
                    </Button>
                  )}
                </li>
              ))}
              {all.length === 0 && <li>No deliveries yet.</li>}
            </ul>
          )
        }}
      </Await>
      {cursor && <Button onClick={readOlder}>Older</Button>}
    </Dialog>
  )
}

function DeliveryRow({ delivery }: { delivery: Delivery }) {
  const { type, status, attempts, responseStatus, error, durationMs, nextAttemptAt, request, responseBody } = delivery
  return (
    <div className="what">
      <span className={`status ${statusClass[status]}`}>{status}</span> <strong>{type}</strong>{' '}
      <span className="dim">
        <Time at={delivery.createdAt} />
        {responseStatus !== null && ` · answered ${responseStatus}`}
        {durationMs !== null && ` in ${durationMs} ms`}
        {attempts > 1 && ` · ${attempts} attempts`}
        {nextAttemptAt && ` · next attempt ${formatTime(nextAttemptAt, 'clock')}`}
      </span>
      {error && <div className="error">{error}</div>}
      <details>
        <summary>Request and response</summary>
        <pre className="printed" tabIndex={0}>
          {pretty(request.body)}
        </pre>
        {responseBody && (
          <pre className="printed" tabIndex={0}>
            {responseBody}
          </pre>
        )}
      </details>
    </div>
  )
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2)
  } catch {
    return json
  }
}
