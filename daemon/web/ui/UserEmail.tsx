import { useEffect, useId, useState, type ComponentProps } from 'react'
import { client } from '../app/session.ts'
import { TextInput } from './Inputs.tsx'

const searchAfterMs = 200

/** An input for a user's email, with a search by name. */
export function UserEmail(props: ComponentProps<typeof TextInput>) {
  const id = useId()
  const found = useUsers(props.value.trim())
  return (
    <>
      <TextInput type="email" required list={id} {...props} />
      <datalist id={id}>
        {found.map(({ email, displayName }) => (
          <option key={email} value={email}>
            {displayName}
          </option>
        ))}
      </datalist>
    </>
  )
}

type Found = Awaited<ReturnType<typeof client.users.search>>

/** Searches accounts after the user has stopped typing. */
function useUsers(text: string): Found {
  const [found, setFound] = useState<Found>([])
  useEffect(() => {
    if (text === '') return setFound([])
    let isOver = false
    const timer = setTimeout(() => {
      client.users.search({ q: text }).then(
        users => isOver || setFound(users),
        () => undefined,
      )
    }, searchAfterMs)
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [text])
  return found
}
