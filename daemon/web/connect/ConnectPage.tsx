import { useState } from 'react'
import { ApiFailure } from '../../../src/client/failures.ts'
import type { AppAccess } from '../../../src/contract/accounts/oauth.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { announce } from '../app/messages.ts'
import { projects } from '../app/projects.ts'
import { hrefOf } from '../app/router.ts'
import { client, session } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { Choice, useFields } from '../ui/Inputs.tsx'
import { Await, Failure, Page } from '../ui/Page.tsx'

type Asked = Output<Contract['oauth']['request']>

const accessTexts: Record<AppAccess, readonly [text: string, hint: string]> = {
  read: ['Read only', 'Cards, and the messages and changes of agents.'],
  work: [
    'Read, and work on cards',
    'Create, change, move and delete cards, and comment on them. Agents are not started.',
  ],
  run: ['Read, work on cards, and run agents', 'Start, steer and stop agents, and push and merge their work.'],
}

/** Asks whether an app can work on behalf of the signed-in person. Access is granted only after a click. */
export function ConnectPage({ request }: { request: string }) {
  const asked = useLoad(() => client.oauth.request({ request }), [request])
  const [isDone, setDone] = useState(false)
  return (
    <Page title="Connect an app">
      {isDone ? (
        <p>
          Your answer was sent to the app. You can close this tab. Connected apps are listed under{' '}
          <a href={hrefOf({ name: 'me', section: 'keys' })}>your API keys</a>, where you can revoke it.
        </p>
      ) : isOver(asked.error) ? (
        <Failure error={asked.error} />
      ) : (
        <Await of={asked}>{known => <Question asked={known} request={request} onDone={() => setDone(true)} />}</Await>
      )}
    </Page>
  )
}

function Question({ asked, request, onDone }: { asked: Asked; request: string; onDone: () => void }) {
  const all = useStore(projects) ?? []
  const email = useStore(session, now => (now.name === 'in' ? now.me.email : ''))
  const { values, bind } = useFields<{ access: AppAccess; projectId: string }>({ access: 'read', projectId: '' })
  const leave = ({ redirectTo }: { redirectTo: string }) => {
    onDone()
    announce('Sent your answer to the app.')
    location.assign(redirectTo)
  }
  return (
    <>
      <p>
        An app that calls itself <strong className="name">{asked.name}</strong> wants to use this board
        {email !== '' && (
          <>
            {' '}
            as <strong>{email}</strong>
          </>
        )}
        . The answer goes to <strong className="name">{asked.leadsTo}</strong> ({placeText(asked.leadsTo)}).
      </p>
      <p>Allow access only if you started this connection in the app. Any app can use any name.</p>
      <Choice
        label="Access"
        hint={accessTexts[values.access][1]}
        options={asked.access.map(access => [access, accessTexts[access][0]] as const)}
        {...bind('access')}
        field="access"
      />
      <Choice
        isSearched
        label="Projects"
        options={[['', 'All projects that I can see'], ...all.map(({ id, name }) => [id, name] as const)]}
        {...bind('projectId')}
        field="projectId"
      />
      <div className="tools">
        <Button
          isMain
          onClick={async () =>
            leave(
              await client.oauth.approve({
                request,
                access: values.access,
                projectId: values.projectId === '' ? undefined : values.projectId,
              }),
            )
          }
        >
          Allow
        </Button>
        <Button onClick={async () => leave(await client.oauth.refuse({ request }))}>Reject</Button>
      </div>
    </>
  )
}

/** Returns whether only the app can start the request again. */
const isOver = (error: unknown): boolean =>
  error instanceof ApiFailure && ['APP_REQUEST_ENDED', 'APP_UNKNOWN'].includes(error.code)

/** Describes an address for people who don't read URLs. */
function placeText(leadsTo: string): string {
  if (leadsTo.startsWith('https:')) return 'a site on the Internet'
  return leadsTo.startsWith('http:') ? 'a program on this computer' : 'a program that opens such addresses'
}
