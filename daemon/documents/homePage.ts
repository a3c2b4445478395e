import { html } from '../../src/config/html.ts'
import { version } from '../../src/config/version.ts'
import { page } from './htmlPage.ts'

/** What a browser sees that asks for the server's address. `origin` is that address. */
export const homePage = (origin: string): Response =>
  page(
    'board',
    html`
<h1>board</h1>
<p>A project board server, version ${version}. It is used from a terminal:</p>
<pre>board --url ${origin} auth login
board --url ${origin} projects list
board --url ${origin} cards list
board help</pre>
<p>On the machine that runs the server, <code>board status</code> and all other commands find it without a sign-in.</p>
<p>You were invited to a project? Sign in, or make an account with <code>board --url ${origin} auth register</code>, then paste the link into:</p>
<pre>board --url ${origin} auth accept</pre>
<nav><a href="api/docs">The API's documentation</a> <a href="api/openapi.json">The same as an OpenAPI document</a></nav>`,
  )
