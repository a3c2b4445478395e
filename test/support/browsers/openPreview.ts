/** Exchanges the ticket in an address for the preview's cookie, as a browser does. */
export async function openPreview(address: string): Promise<{ url: string; cookie: string }> {
  const answer = await fetch(address, { redirect: 'manual' })
  const [cookie] = answer.headers.getSetCookie()
  if (answer.status !== 303 || cookie === undefined)
    throw new Error(`The preview did not open: ${answer.status} ${await answer.text()}`)
  return { url: answer.headers.get('location')!.replace(/\/$/, ''), cookie: cookie.split(';')[0]! }
}
