# The preregistered analysis of a study, run on its export: Rscript analysis.R FOLDER BASE
#
# FOLDER has the answers.csv and participants.csv of `didact study export`; BASE is the condition
# that the others are compared with. Base R alone; analysis.py beside it does the same. Excluded are
# participants who did not finish the test, and those who failed the attention item. A score is the
# share of right answers in the test.

arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) != 2) stop("usage: Rscript analysis.R FOLDER BASE")
folder <- arguments[1]
base <- arguments[2]

people <- read.csv(file.path(folder, "participants.csv"), stringsAsFactors = FALSE)
answers <- read.csv(file.path(folder, "answers.csv"), stringsAsFactors = FALSE)
answers <- answers[answers$kind == "test", ]
kept <- people[people$finished == 1 & (is.na(people$attention) | people$attention != 0), ]
kept$score <- vapply(kept$participant, function(number) {
  mean(answers$correct[answers$participant == number])
}, numeric(1))
conditions <- sort(unique(kept$condition), method = "radix")
if (!(base %in% conditions)) stop("no participant of condition ", base, " is left")

fields <- c("row", "condition", "n", "estimate", "low", "high", "t", "df", "p", "p_holm", "g")
row_of <- function(...) {
  given <- list(...)
  for (name in setdiff(fields, names(given))) given[[name]] <- NA
  as.data.frame(given[fields], stringsAsFactors = FALSE)
}

mean_row <- function(name) {
  scores <- kept$score[kept$condition == name]
  if (length(scores) < 2) {
    return(row_of(row = "mean", condition = name, n = length(scores), estimate = mean(scores)))
  }
  reach <- sd(scores) / sqrt(length(scores)) * qt(0.975, length(scores) - 1)
  row_of(row = "mean", condition = name, n = length(scores), estimate = mean(scores),
         low = mean(scores) - reach, high = mean(scores) + reach)
}

difference_row <- function(name) {
  a <- kept$score[kept$condition == name]
  b <- kept$score[kept$condition == base]
  n <- length(a) + length(b)
  apart <- mean(a) - mean(b)
  if (min(length(a), length(b)) < 2 || var(a) + var(b) == 0) {
    return(row_of(row = "difference", condition = name, n = n, estimate = apart))
  }
  found <- t.test(a, b, var.equal = FALSE)
  pooled <- ((length(a) - 1) * var(a) + (length(b) - 1) * var(b)) / (n - 2)
  row_of(row = "difference", condition = name, n = n, estimate = apart,
         low = found$conf.int[1], high = found$conf.int[2], t = unname(found$statistic),
         df = unname(found$parameter), p = found$p.value,
         g = (1 - 3 / (4 * n - 9)) * apart / sqrt(pooled))
}

means <- do.call(rbind, lapply(conditions, mean_row))
differences <- do.call(rbind, lapply(setdiff(conditions, base), difference_row))
if (!is.null(differences)) {
  tested <- !is.na(differences$p)
  differences$p_holm[tested] <- p.adjust(differences$p[tested], method = "holm")
}
write.csv(rbind(means, differences), stdout(), row.names = FALSE, quote = FALSE, na = "")
