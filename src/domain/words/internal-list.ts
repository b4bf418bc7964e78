/** Words about the internal do-not-call list. */
export const internalListWords = {
  'not-on-internal-list': 'not on the internal do-not-call list',
  'on-internal-list': 'on the internal do-not-call list',
  'on-internal-list-since': 'on the internal do-not-call list since {since}',
  'newer-permission': 'a newer permission record overrides it',
  'newer-opt-out': 'the opt-out is newer than the permission record',
  'held-by-event':
    'held: on {on} {platform} reported that a person asked not to be called again, in a call that is not known yet; it may have been a call to this number. The hold ends when the event is joined to its call, or when a person confirms or dismisses the unclear opt-out',
} as const
