// What was refused is read at once by whoever cannot see that the page has changed.
document.querySelector('.refusal')?.focus()
