import { html } from './html.ts'
import { Problem } from '../../src/contract/errors.ts'
import { page } from './htmlPage.ts'

/** The page that a browser shows after a sign-in if no program waits for it. `origin` is the server's address. */
export const signedInPage = (email: string, origin: string): Response =>
  page(
    'Signed in',
    html`
<h1>You are signed in</h1>
<p>The identity provider has confirmed your identity. Your account on this server is <b>${email}</b>.</p>
<p>Open the <a href="${origin}/">board</a> and choose single sign-on there, or sign in in a terminal:</p>
<pre>board --url ${origin} auth login --oidc</pre>`,
  )

/** Answers with a page, and shows a failure on a page. A client that does not accept HTML gets the failure itself. */
export async function answerPage(
  accept: string | undefined,
  work: () => Promise<Response>,
  pageOf: (message: string) => Response = notSignedInPage,
): Promise<Response> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Problem) || !/\btext\/html\b/.test(accept ?? '')) throw error
    return withStatus(error.status, pageOf(error.message))
  }
}

const notSignedInPage = (message: string) =>
  page(
    'Not signed in',
    html`
<h1>You are not signed in</h1>
<p>${message}</p>
<p>Go back to the board, or to the terminal, and start again (<code>board auth login --oidc</code>).</p>`,
  )

/** The page that a browser shows for an app's invalid authorization request. */
export const askedWronglyPage = (message: string): Response =>
  page(
    'Not connected',
    html`
<h1>The app is not connected</h1>
<p>${message}</p>
<p>Nothing was allowed. Go back to the app and start again there.</p>`,
  )

const withStatus = (status: number, { body, headers }: Response) => new Response(body, { status, headers })
